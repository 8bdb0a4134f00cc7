//! The guard around the whole program: it prints an error or a panic, and gives every end its exit code.

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{CliError, report};
use crate::exit_code::Exit;
use crate::secrets;

/// Runs a command and returns its exit code: prints an error with its sources, and a panic as a bug.
pub(crate) fn guarded(run: impl FnOnce() -> Result<Exit, CliError>) -> Exit {
    panic::set_hook(Box::new(|info| {
        // Several threads can meet the same bug; one report is enough.
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            // `eprintln!` would panic again if standard error cannot be written, which ends in a signal.
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
        // The reader of the output closed the pipe, as in `ncz dump x | head`.
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
    fn a_panic_is_reported_as_a_bug() {
        assert_eq!(guarded(|| panic!("on purpose")), Exit::Bug);
        assert_eq!(guarded(|| Ok(Exit::Findings)), Exit::Findings);
        let closed = || Err(CliError::Output(io::ErrorKind::BrokenPipe.into()));
        assert_eq!(guarded(closed), Exit::Good);
    }
}
