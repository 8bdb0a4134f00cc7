use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Error;

/// Holds a lock file; other processes wait for it. The system frees it when the process ends, however it ends.
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock file `path`, at most `limit`.
    pub(crate) fn wait(path: &Path, limit: Duration) -> Result<Self, Error> {
        let file =
            File::options().create(true).truncate(false).write(true).open(path).map_err(Error::io(path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if start.elapsed() < limit => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Locked { path: path.to_owned(), limit }),
                Err(TryLockError::Error(source)) => return Err(Error::Io { path: path.to_owned(), source }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_refused_after_the_limit_and_free_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let held = FileLock::wait(&path, Duration::ZERO).unwrap();
        assert!(matches!(FileLock::wait(&path, Duration::ZERO), Err(Error::Locked { .. })));
        drop(held);
        FileLock::wait(&path, Duration::ZERO).unwrap();
    }
}
