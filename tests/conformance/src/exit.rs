//! Exit codes: a documented part of the program's interface.

use std::process::ExitCode;

use crate::error::Error;
use crate::outcome::Verdict;
use crate::results::Run;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// No library is unfit.
    Fit = 0,
    /// A check failed, crashed or hung, or warned under `--strict`.
    Findings = 1,
    /// The command line asks for something that does not exist or contradicts itself.
    Usage = 2,
    /// It could not be done: a file is missing, a report cannot be written.
    NotDone = 3,
    /// A fault of this program.
    Bug = 70,
    /// Ctrl-C, or a polite request to end.
    Interrupted = 130,
}

impl Exit {
    /// The end of a run; `strict` takes warnings for findings.
    pub fn of_run(run: &Run, strict: bool) -> Self {
        if !run.bugs.is_empty() {
            Self::Bug
        } else if run.is_unfit() || strict && run.counts().number(Verdict::Warned) > 0 {
            Self::Findings
        } else {
            Self::Fit
        }
    }

    /// The end of a run that could not be made.
    pub fn of_error(error: &Error) -> Self {
        match error {
            Error::NothingMatches { .. }
            | Error::NothingChosen { .. }
            | Error::NothingToRun { .. }
            | Error::NoSuchFilter { .. }
            | Error::Variable { .. } => Self::Usage,
            Error::Interrupted => Self::Interrupted,
            Error::NoWorker => Self::Bug,
            _ => Self::NotDone,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
