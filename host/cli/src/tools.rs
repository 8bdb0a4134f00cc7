//! The tools of netCDF under their own names: what `ncz` does when a link of that name starts it.
//!
//! Each takes the options of its tool, prints what that prints, and ends with its exit codes: 0, or 1 for any failure.

mod getopt;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// A tool of netCDF whose name and options ncz takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {}

impl Tool {
    /// Every tool.
    pub(crate) const ALL: [Self; 0] = [];

    /// The name of its link.
    pub(crate) fn name(self) -> &'static str {
        match self {}
    }

    /// Does what the tool does with these arguments (without the name of the program).
    pub(crate) fn run(self, _arguments: Vec<OsString>) -> ExitCode {
        match self {}
    }

    /// The tool whose name a program was started by, whatever folder and extension it has.
    pub(crate) fn started_as(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_stem()?;
        Self::ALL.into_iter().find(|tool| name == tool.name())
    }
}
