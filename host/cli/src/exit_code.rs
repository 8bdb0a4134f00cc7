//! The exit codes of the command.

use std::process::ExitCode;

/// How the program ended. The codes are a documented part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Good = 0,
    /// Done, with findings that need attention.
    Findings = 1,
    /// The command line is wrong or contradicts itself.
    Usage = 2,
    /// The command failed.
    Failed = 3,
    /// A bug in this program.
    Bug = 70,
    /// Ctrl-C or SIGTERM.
    Interrupted = 130,
}

impl Exit {
    /// [`Exit::Findings`] if there are any.
    pub(crate) fn of_findings(any: bool) -> Self {
        if any { Self::Findings } else { Self::Good }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
