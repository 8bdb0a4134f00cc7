//! The place of a dataset in the directory above it, and what dead writers left there.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, FileType, FlockOperation, Stat, flock, fstat};
use rustix::process::getuid;

use crate::names::is_stage_of;
use crate::{sys, tree};

/// The age at which a dataset that was never published is rubbish.
pub(crate) const OLD_STAGE: Duration = Duration::from_secs(24 * 3600);

/// How many neighbours of a target are looked at for abandoned stages.
const NEIGHBOURS: usize = 10_000;

/// The directory that holds the entry of the dataset, and the name of the entry.
pub(crate) struct Home {
    pub(crate) parent: OwnedFd,
    pub(crate) name: OsString,
}

/// The directory that holds the entry of `path`.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl Home {
    /// Removes the unpublished datasets of the same name whose writers have died: directories and
    /// archives. A living writer holds a lock; where locks are not known, age has the last word.
    pub(crate) fn clean_stages(&self, age: Duration) {
        let Ok(mut entries) = Dir::read_from(&self.parent) else {
            return;
        };
        for _ in 0..NEIGHBOURS {
            let Some(Ok(entry)) = entries.read() else {
                return;
            };
            let name = entry.file_name();
            if !is_stage_of(name.to_bytes(), &self.name) {
                continue;
            }
            let name = OsStr::from_bytes(name.to_bytes());
            let Ok(stage) = sys::open_real_file(&self.parent, name) else {
                continue;
            };
            let Ok(found) = fstat(&stage) else {
                continue;
            };
            let is_ours = |kind| is_rubbish(&found, kind, age);
            if !(is_ours(FileType::Directory) || is_ours(FileType::RegularFile))
                || flock(&stage, FlockOperation::NonBlockingLockExclusive).is_err()
            {
                continue;
            }
            // what cannot be removed takes space and is otherwise harmless
            let _ = if is_ours(FileType::Directory) {
                tree::remove(&self.parent, name, &stage)
            } else {
                sys::remove_file(&self.parent, name)
            };
        }
    }
}

/// Ours by owner and kind, and older than `age`.
pub(crate) fn is_rubbish(found: &Stat, kind: FileType, age: Duration) -> bool {
    let changed = u64::try_from(found.st_mtime).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    found.st_uid == getuid().as_raw()
        && FileType::from_raw_mode(found.st_mode) == kind
        && changed.checked_add(age.as_secs()).is_some_and(|end| end <= now)
}
