//! `ncfilteravail`: whether a filter is there, the helper of netcdf-c's tests (`avail` in its `test_common.sh`).

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use ncz::registry::Registry;

use super::getopt;
use crate::commands::plugins;

const USAGE: &str = "ncfilteravail [-t <format>] <filtername>|<filterid>
Prints \"yes\" or \"no\".
  -t nc4|nczarr    has no effect: the same filters serve both
  <filtername>     such as zstd
  <filterid>       such as 32015
";

/// Runs the tool: the answer is in what it prints; it ends with 0 unless it was asked wrongly.
pub(super) fn run(_program: &str, arguments: Vec<OsString>) -> ExitCode {
    let filter = match getopt::parse("t:", arguments) {
        Err(_) => Err("unknown option"),
        Ok(found) => match found.operands.as_slice() {
            [] => Err("no filter specified"),
            [filter] => Ok(filter.clone()),
            _ => Err("more than one filter specified"),
        },
    };
    match filter {
        Ok(filter) => {
            let answer =
                if plugins::available(&Registry::builder().build(), &filter).is_ok() { "yes" } else { "no" };
            // Nobody is left to tell if this fails.
            let _ = write!(io::stdout(), "{answer}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            let _ = write!(io::stderr(), "{reason}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}
