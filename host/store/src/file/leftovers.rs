//! Temporary files that a killed writer left in a dataset.
//!
//! A writer to a visible dataset holds a shared lock on the file `.ncz-writer` in its root. If that
//! file exists without a lock, a writer has died and there may be temporary files below; only then is
//! the whole dataset searched. Where locks are not supported, or reach only one machine, a file's age
//! decides.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Dir, FileType, FlockOperation, flock, fstat};
use rustix::io::Errno;

use super::FileStore;
use crate::key::Key;
use crate::parent_dir::is_rubbish;
use crate::sys;
use crate::temp_names::{WRITER, is_temporary_object};

/// The age at which a temporary object without a living writer is rubbish.
pub(super) const OLD: Duration = Duration::from_secs(3600);

/// How deep temporary objects are searched for; deeper than keys go.
const MAX_DEPTH: usize = 512;

/// The lock file of this writer.
#[derive(Default)]
pub(super) struct WriterMark {
    tried: AtomicBool,
    file: Mutex<Option<Mark>>,
}

struct Mark {
    file: OwnedFd,
    /// The file existed before, perhaps from a writer that died: it stays for the next writer to check.
    found: bool,
}

impl WriterMark {
    /// Creates the lock file at the first call. Called before each write to a visible dataset.
    pub(super) fn set(&self, root: &OwnedFd) {
        if self.tried.load(Ordering::Acquire) {
            return;
        }
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.tried.load(Ordering::Acquire) {
            // without a mark everything works but the cleaning up
            *slot = mark(root).ok();
            self.tried.store(true, Ordering::Release);
        }
    }

    /// Removes the lock file unless another writer uses it.
    pub(super) fn remove(&mut self, root: &OwnedFd) {
        let mark = self.file.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Mark { file, found: false }) = mark
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_entry(root, &file)
        {
            let _ = sys::remove_file(root, WRITER);
        }
    }
}

fn mark(root: &OwnedFd) -> Result<Mark, Errno> {
    loop {
        let (file, found) = match sys::create_file(root, WRITER, 0o666) {
            Ok(file) => (file, false),
            Err(Errno::EXIST) => (sys::open_file(root, WRITER)?, true),
            Err(error) => return Err(error),
        };
        flock(&file, FlockOperation::NonBlockingLockShared)?;
        // another may have removed it between opening and locking
        if is_entry(root, &file) {
            return Ok(Mark { file, found });
        }
    }
}

fn is_entry(root: &OwnedFd, file: &OwnedFd) -> bool {
    match (sys::stat_entry(root, WRITER), fstat(file)) {
        (Ok(there), Ok(ours)) => sys::same(&there, &ours),
        _ => false,
    }
}

/// Removes the temporary objects of writers that have died. Those that cannot be removed are left: they
/// take space and are otherwise harmless.
pub(super) fn clean(store: &FileStore, age: Duration) {
    let Ok(file) = sys::open_file(&store.root, WRITER) else {
        return;
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || !is_entry(&store.root, &file) {
        return;
    }
    if matches!(clean_below(&store.root, age, MAX_DEPTH), Ok(Rest::Clean)) {
        let _ = sys::remove_file(&store.root, WRITER);
    }
}

/// Returns the temporary objects of writers that have died, and their lock file, at most `most`. Nothing while a writer
/// is running.
pub(super) fn find(store: &FileStore, most: usize) -> Vec<String> {
    let Ok(file) = sys::open_file(&store.root, WRITER) else {
        return Vec::new();
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() || !is_entry(&store.root, &file) {
        return Vec::new();
    }
    let mut found = vec![WRITER.to_owned()];
    // a folder that cannot be looked at hides what is in it, which is harmless
    let _ = find_below(&store.root, "", most, &mut found);
    found
}

fn find_below(directory: &OwnedFd, above: &str, most: usize, found: &mut Vec<String>) -> Result<(), Errno> {
    let mut entries = Dir::read_from(directory)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{above}{}", name.to_string_lossy());
        if found.len() >= most || path.len() > Key::MAX_LEN + MAX_DEPTH {
            return Ok(());
        }
        if is_temporary_object(name.to_bytes()) {
            found.push(path);
        } else if !matches!(name.to_bytes(), b"." | b"..")
            && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
            && let Ok(inner) = sys::open_real_directory(directory, name)
        {
            let _ = find_below(&inner, &format!("{path}/"), most, found);
        }
    }
    Ok(())
}

enum Rest {
    Clean,
    /// Something is too recent to be removed; the lock file stays.
    TooYoung,
}

fn clean_below(directory: &OwnedFd, age: Duration, depth: usize) -> Result<Rest, Errno> {
    let deeper = depth.checked_sub(1).ok_or(Errno::LOOP)?;
    let mut rest = Rest::Clean;
    let mut entries = Dir::read_from(directory)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if is_temporary_object(name.to_bytes()) {
            match sys::stat_entry(directory, name) {
                Ok(found) if is_rubbish(&found, FileType::RegularFile, Some(age)) => {
                    sys::remove_file(directory, name)?
                }
                Ok(_) => rest = Rest::TooYoung,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        } else if !matches!(name.to_bytes(), b"." | b"..")
            && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
        {
            // links are not followed: what they lead to has its own lock file
            match sys::open_real_directory(directory, name) {
                Ok(inner) => {
                    if let Rest::TooYoung = clean_below(&inner, age, deeper)? {
                        rest = Rest::TooYoung;
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rest)
}
