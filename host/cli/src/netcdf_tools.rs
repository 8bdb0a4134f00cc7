//! ncz started by a link named ncdump, ncgen or nccopy.
//!
//! Each tool takes the options of netCDF's tool, prints the same output, and ends with the same exit codes: 0, or 1 for
//! any failure.

mod getopt;
mod kinds;
mod nccopy;
mod ncdump;
mod ncgen;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::tool_name::ToolName;

/// Runs a tool with these arguments, without the name of the program.
pub(crate) fn run(tool: ToolName, arguments: Vec<OsString>) -> ExitCode {
    // Messages begin with the name as it was typed.
    let program = std::env::args_os().next().unwrap_or_default();
    let program = program.to_string_lossy();
    match tool {
        ToolName::Nccopy => nccopy::run(arguments),
        ToolName::Ncdump => ncdump::run(&program, arguments),
        ToolName::Ncgen => ncgen::run(&program, arguments),
    }
}

/// Whether the environment requests consolidated metadata as for netcdf-c: `NCZARR_CONSOLIDATED` is `true`, `yes` or a
/// positive number.
fn wants_consolidated() -> bool {
    let value = std::env::var("NCZARR_CONSOLIDATED").unwrap_or_default();
    let value = value.trim();
    ["true", "yes"].iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<i64>().is_ok_and(|number| number > 0)
}

/// Returns a path without backslashes that were meant for a shell.
fn unescaped(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            letter => plain.push(letter),
        }
    }
    plain
}
