//! The parent directory of a dataset, and the leftovers of dead writers in it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, FileType, FlockOperation, Stat, flock, fstat};
use rustix::io::Errno;
use rustix::process::getuid;

use crate::error::{ObjectLocation, StoreError};
use crate::store::Leftover;
use crate::temp_names::{TempNames, is_aside_of, is_of_this_boot, is_stage_of};
use crate::{remove_tree, sys};

/// The age at which a dataset that was never published is rubbish.
pub(crate) const OLD_STAGE: Duration = Duration::from_secs(24 * 3600);

/// The most entries of the parent directory that are searched for leftovers.
const NEIGHBOURS: usize = 10_000;

/// The parent directory of a dataset, held open, and the dataset's name in it.
pub(crate) struct ParentDir {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
}

/// Returns the parent directory of `path`.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// What writers of the file at `path` left beside it ([`Store::leftovers`](crate::Store::leftovers)).
pub(crate) fn leftovers_beside(path: &Path) -> Vec<Leftover> {
    let left = ParentDir::of(path).map(|parent| parent.leftovers()).unwrap_or_default();
    let left = left.into_iter().take(Leftover::MOST);
    left.map(|(name, is_removed)| Leftover {
        path: parent_of(path).join(name).display().to_string(),
        is_removed,
    })
    .collect()
}

impl ParentDir {
    /// Opens the parent directory of `path`.
    pub(crate) fn of(path: &Path) -> Result<Self, StoreError> {
        let not_a_dataset =
            |path: &Path, reason| StoreError::NotADataset { location: path.display().to_string(), reason };
        let Some(name) = path.file_name() else {
            return Err(not_a_dataset(path, "has no name of its own to be created under"));
        };
        let above = parent_of(path);
        let dir = sys::open_directory(rustix::fs::CWD, above).map_err(|error| match error {
            Errno::NOTDIR => not_a_dataset(above, "is not a directory"),
            Errno::NOENT => StoreError::NotFound { location: above.display().to_string() },
            error => StoreError::from_io("open", ObjectLocation::store(above.display()), error.into()),
        })?;
        Ok(Self { dir, name: name.to_owned() })
    }

    /// Removes the unpublished datasets of the same name whose writers have died: directories and archives. A living
    /// writer holds a lock. Of what was made in another start of the system, perhaps by another machine, a lock does not
    /// say enough; that goes when it is old.
    pub(crate) fn clean_stages(&self, age: Duration) {
        let stages = self.neighbours(|name| is_stage_of(name, &self.name));
        let mut is_flushed = false;
        for name in &stages {
            let Some((stage, found)) = self.abandoned(name) else {
                continue;
            };
            let age = if is_of_this_boot(name.as_bytes()) { None } else { Some(age) };
            let is_ours = |kind| is_rubbish(&found, kind, age);
            if !(is_ours(FileType::Directory) || is_ours(FileType::RegularFile)) {
                continue;
            }
            // it may be the old dataset, whose writer died before the name of the new one was safe
            if !is_flushed && sys::sync_file(&self.dir).is_err() {
                return;
            }
            is_flushed = true;
            // what cannot be removed takes space and is otherwise harmless
            let _ = if is_ours(FileType::Directory) {
                remove_tree::remove(&self.dir, name, &stage)
            } else {
                sys::remove_file(&self.dir, &**name)
            };
        }
    }

    /// Locks a stage that was just made, so that others know that its writer lives; where locks are not known, its age
    /// says so. `false` if another program took it for abandoned first.
    pub(crate) fn claim(&self, name: &OsStr, stage: impl AsFd) -> bool {
        match flock(&stage, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => false,
            _ => self.is_entry(name, &stage),
        }
    }

    /// Gives a stage that holds an old dataset a name under which no other program removes it, if that can be; gives
    /// the name that it has then.
    pub(crate) fn keep(&self, names: &TempNames, stage: OsString) -> OsString {
        let aside = names.aside(&self.name);
        match sys::rename(&self.dir, &*stage, &*aside) {
            Ok(()) => aside,
            Err(_) => stage,
        }
    }

    /// What writers that ended early left beside the dataset: its own names, and whether each goes by itself.
    pub(crate) fn leftovers(&self) -> Vec<(OsString, bool)> {
        let is_left = |name: &[u8]| is_stage_of(name, &self.name) || is_aside_of(name, &self.name);
        let mut left = self.neighbours(is_left);
        left.retain(|name| is_aside_of(name.as_bytes(), &self.name) || self.abandoned(name).is_some());
        left.into_iter()
            .map(|name| {
                let goes = is_stage_of(name.as_bytes(), &self.name);
                (name, goes)
            })
            .collect()
    }

    /// A stage whose writer does not live, locked while it is looked at.
    fn abandoned(&self, name: &OsStr) -> Option<(OwnedFd, Stat)> {
        let stage = sys::open_real_file(&self.dir, name).ok()?;
        let found = fstat(&stage).ok()?;
        flock(&stage, FlockOperation::NonBlockingLockExclusive).ok()?;
        self.is_entry(name, &stage).then_some((stage, found))
    }

    fn is_entry(&self, name: &OsStr, file: impl AsFd) -> bool {
        matches!((sys::stat_entry(&self.dir, name), fstat(file)), (Ok(there), Ok(file)) if sys::same(&there, &file))
    }

    /// The names beside the dataset of which `is_wanted`.
    fn neighbours(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<OsString> {
        let mut names = Vec::new();
        let Ok(mut entries) = Dir::read_from(&self.dir) else {
            return names;
        };
        for _ in 0..NEIGHBOURS {
            let Some(Ok(entry)) = entries.read() else {
                break;
            };
            if is_wanted(entry.file_name().to_bytes()) {
                names.push(OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
            }
        }
        names
    }
}

/// Ours by owner and kind, and older than `age` if that counts.
pub(crate) fn is_rubbish(found: &Stat, kind: FileType, age: Option<Duration>) -> bool {
    let changed = u64::try_from(found.st_mtime).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    found.st_uid == getuid().as_raw()
        && FileType::from_raw_mode(found.st_mode) == kind
        && age.is_none_or(|age| changed.checked_add(age.as_secs()).is_some_and(|end| end <= now))
}
