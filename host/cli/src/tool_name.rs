//! The names of netCDF's tools that ncz can be started by.

use std::ffi::OsStr;
use std::path::Path;

/// A tool of netCDF whose name and options ncz takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolName {
    /// Copies datasets.
    Nccopy,
    /// Prints a dataset.
    Ncdump,
    /// Makes a dataset from CDL.
    Ncgen,
}

impl ToolName {
    /// Every tool.
    pub(crate) const ALL: [Self; 3] = [Self::Nccopy, Self::Ncdump, Self::Ncgen];

    /// The name of its link.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nccopy => "nccopy",
            Self::Ncdump => "ncdump",
            Self::Ncgen => "ncgen",
        }
    }

    /// The tool whose name the program was started by, in any folder and with any extension.
    pub(crate) fn of_program(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_stem()?;
        Self::ALL.into_iter().find(|tool| name == tool.as_str())
    }
}
