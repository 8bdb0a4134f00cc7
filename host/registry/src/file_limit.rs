//! The limit on the length of files (`ulimit -f`). It also applies to files in memory, and exceeding it ends the
//! process with a signal.

use std::io;

use rustix::process::{Resource, getrlimit};

/// Whether this process may make a file of `len` bytes.
///
/// # Errors
/// Its limit is lower; the text names it.
pub(crate) fn check(len: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < len => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "{len} bytes in memory are over the limit of {limit} on files (RLIMIT_FSIZE); raise it with ulimit -f"
            ),
        )),
        _ => Ok(()),
    }
}
