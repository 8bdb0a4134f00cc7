//! Exit codes, and the guard around the whole program that gives each end its code.

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{CliError, report};
use crate::secrets;

/// How the program ended; a documented part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Good = 0,
    /// Done, and something was found that somebody should look at.
    Findings = 1,
    /// The command line asks for something that does not exist or contradicts itself.
    Usage = 2,
    /// It could not be done.
    Failed = 3,
    /// A fault of this program.
    Bug = 70,
    /// Ctrl-C, or a polite request to end.
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

/// Runs a command, and makes an exit code of whatever comes out: an error is printed with its causes, a
/// panic is called the bug that it is.
pub(crate) fn guarded(run: impl FnOnce() -> Result<Exit, CliError>) -> Exit {
    panic::set_hook(Box::new(|info| {
        // Several threads may meet the same bug; one report is enough.
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            // `eprintln!` would panic in turn if standard error cannot be written to, which ends in a signal.
            let _ = writeln!(
                io::stderr(),
                "error: this is a bug in ncz {}: {}\n  please report it, with the command line: {}",
                env!("CARGO_PKG_VERSION"),
                secrets::hide(&info.to_string()),
                secrets::command_line(),
            );
        }
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    drop(panic::take_hook());
    match result {
        Ok(Ok(exit)) => exit,
        // Whoever reads our output has seen enough, as in `ncz dump x | head`.
        Ok(Err(CliError::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Good,
        Ok(Err(error)) => {
            report(&error);
            error.exit()
        }
        Err(_) => Exit::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_our_own_bug_and_not_the_users_fault() {
        assert_eq!(guarded(|| panic!("on purpose")), Exit::Bug);
        assert_eq!(guarded(|| Ok(Exit::Findings)), Exit::Findings);
        let closed = || Err(CliError::Output(io::ErrorKind::BrokenPipe.into()));
        assert_eq!(guarded(closed), Exit::Good);
    }
}
