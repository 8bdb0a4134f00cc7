//! The tools of netCDF under their own names: what `ncz` does when a link of that name starts it.
//!
//! Each takes the options of its tool, prints what that prints, and ends with its exit codes: 0, or 1 for any failure.

mod getopt;
mod nccopy;
mod ncdump;
mod ncfilteravail;
mod ncgen;
mod zmapio;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// A tool of netCDF whose name and options ncz takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Copies datasets.
    Nccopy,
    /// Prints a dataset.
    Ncdump,
    /// Tells whether a filter is there.
    Ncfilteravail,
    /// Makes a dataset from CDL.
    Ncgen,
    /// Lists the objects of a dataset.
    Zmapio,
}

impl Tool {
    /// Every tool.
    pub(crate) const ALL: [Self; 5] =
        [Self::Nccopy, Self::Ncdump, Self::Ncfilteravail, Self::Ncgen, Self::Zmapio];

    /// The name of its link.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nccopy => "nccopy",
            Self::Ncdump => "ncdump",
            Self::Ncfilteravail => "ncfilteravail",
            Self::Ncgen => "ncgen",
            Self::Zmapio => "zmapio",
        }
    }

    /// Does what the tool does with these arguments (without the name of the program).
    pub(crate) fn run(self, arguments: Vec<OsString>) -> ExitCode {
        // Messages begin with the name as it was typed.
        let program = std::env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        match self {
            Self::Nccopy => nccopy::run(arguments),
            Self::Ncdump => ncdump::run(&program, arguments),
            Self::Ncfilteravail => ncfilteravail::run(&program, arguments),
            Self::Ncgen => ncgen::run(&program, arguments),
            Self::Zmapio => zmapio::run(&program, arguments),
        }
    }

    /// The tool whose name a program was started by, whatever folder and extension it has.
    pub(crate) fn started_as(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_stem()?;
        Self::ALL.into_iter().find(|tool| name == tool.name())
    }
}

/// Whether the environment asks for consolidated metadata, as netcdf-c takes it: `NCZARR_CONSOLIDATED` is `true`, `yes`
/// or a number above 0.
fn wants_consolidated() -> bool {
    let value = std::env::var("NCZARR_CONSOLIDATED").unwrap_or_default();
    let value = value.trim();
    ["true", "yes"].iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<i64>().is_ok_and(|number| number > 0)
}

/// A path without the backslashes that a shell was to see.
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
