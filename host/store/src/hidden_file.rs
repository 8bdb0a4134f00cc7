//! A file under a hidden name, which takes the name of its target as a whole.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{FlockOperation, Gid, Mode, Uid, fchmod, fchown, flock, fstat};
use rustix::io::Errno;

use crate::error::{ObjectLocation, StoreError};
use crate::options::Durability;
use crate::parent_dir::{ParentDir, parent_of};
use crate::sys;
use crate::temp_names::TempNames;

/// A hidden file beside its target; removed unless it took the target's name.
pub(crate) struct HiddenFile {
    pub(crate) file: Arc<File>,
    pub(crate) name: OsString,
    parent: Arc<ParentDir>,
    /// The end of what is reserved.
    end: AtomicU64,
    installed: AtomicBool,
}

impl HiddenFile {
    pub(crate) fn create(parent: &Arc<ParentDir>, names: &TempNames, mode: u32) -> Result<Self, Errno> {
        loop {
            let name = names.stage(&parent.name);
            match sys::create_file(&parent.dir, &*name, mode) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
                // another program that cleans up was faster
                Ok(file) if !parent.claim(&name, &file) => {}
                Ok(file) => {
                    return Ok(Self {
                        file: Arc::new(File::from(file)),
                        name,
                        parent: Arc::clone(parent),
                        end: AtomicU64::new(0),
                        installed: AtomicBool::new(false),
                    });
                }
            }
        }
    }

    /// Reserves the next bytes of the file; returns where they begin.
    pub(crate) fn reserve(&self, len: u64) -> u64 {
        self.end.fetch_add(len, Ordering::Relaxed)
    }

    /// The end of what is reserved.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Gives the file its name at `path`, in place of `old` if there is one, after its bytes are as durable as requested.
    /// Returns whether the old file has the hidden name now.
    pub(crate) fn install(
        &self,
        location: &dyn Display,
        path: &Path,
        old: Option<&File>,
        durability: Durability,
    ) -> Result<bool, StoreError> {
        let failed =
            |error: Errno| StoreError::from_io("publish", ObjectLocation::store(location), error.into());
        if let Some(old) = old {
            take_over_access(old, &self.file).map_err(failed)?;
        }
        if durability == Durability::PowerLoss {
            sys::sync_file(&self.file).map_err(failed)?;
        }
        let replaced = self.rename(location, path, old)?;
        self.installed.store(true, Ordering::Relaxed);
        let _ = flock(&self.file, FlockOperation::NonBlockingUnlock);
        Ok(replaced)
    }

    /// Makes the new name durable if requested, then removes the old file if it was replaced.
    pub(crate) fn finish(
        &self,
        location: &dyn Display,
        path: &Path,
        replaced: bool,
        durability: Durability,
        names: &TempNames,
    ) -> Result<(), StoreError> {
        let synced = match durability {
            Durability::PowerLoss => sys::sync_file(&self.parent.dir),
            Durability::Process => Ok(()),
        };
        let beside = |name| parent_of(path).join(name).display().to_string();
        if let Err(error) = synced {
            // a power failure could still undo the rename: the old file is kept
            let old = replaced.then(|| beside(self.parent.keep(names, self.name.clone())));
            return Err(StoreError::NotDurable {
                at: ObjectLocation::store(location),
                old,
                source: error.into(),
            });
        }
        if !replaced {
            return Ok(());
        }
        sys::remove_file(&self.parent.dir, &*self.name).map_err(|error| StoreError::NotRemoved {
            location: beside(self.name.clone()),
            source: error.into(),
        })
    }

    fn rename(&self, location: &dyn Display, path: &Path, old: Option<&File>) -> Result<bool, StoreError> {
        let (parent, target, hidden) = (&self.parent.dir, &*self.parent.name, &*self.name);
        let failed =
            |error: Errno| StoreError::from_io("publish", ObjectLocation::store(location), error.into());
        let Some(old) = old else {
            let renamed = match sys::rename_new(parent, hidden, target) {
                Ok(None) => sys::link_new(parent, hidden, target).map(|()| {
                    // the file has its name; that it has two for a while does no harm
                    let _ = sys::remove_file(parent, hidden);
                }),
                Ok(Some(())) => Ok(()),
                Err(error) => Err(error),
            };
            return match renamed {
                Ok(()) => Ok(false),
                Err(Errno::EXIST) => {
                    Err(StoreError::AlreadyExists { at: ObjectLocation::store(path.display()) })
                }
                Err(error) => Err(failed(error)),
            };
        };
        let is_old = |name| matches!((sys::stat_entry(parent, name), fstat(old)), (Ok(there), Ok(old)) if sys::same(&there, &old));
        let _ = flock(old, FlockOperation::NonBlockingLockExclusive);
        if let Some(()) = sys::exchange(parent, hidden, target).map_err(failed)? {
            if is_old(hidden) {
                return Ok(true);
            }
            // what was asked about is no longer what was there: give it back
            // until then the hidden name is that of a file of another program, which is never removed
            self.installed.store(true, Ordering::Relaxed);
            sys::exchange(parent, hidden, target).map_err(failed)?;
            self.installed.store(false, Ordering::Relaxed);
            return Err(StoreError::Gone { store: location.to_string() });
        }
        if !is_old(target) {
            return Err(StoreError::Gone { store: location.to_string() });
        }
        sys::rename(parent, hidden, target).map_err(failed)?;
        Ok(false)
    }
}

impl Drop for HiddenFile {
    fn drop(&mut self) {
        if !self.installed.load(Ordering::Relaxed) {
            // nothing is left to report a failure to; a later writer tries again
            let _ = sys::remove_file(&self.parent.dir, &*self.name);
        }
    }
}

/// Gives the new file the owner, group and mode of the old one, as far as possible.
fn take_over_access(old: &File, new: &File) -> Result<(), Errno> {
    let (was, is) = (fstat(old)?, fstat(new)?);
    let (owner, group) = (Uid::from_raw(was.st_uid), Gid::from_raw(was.st_gid));
    let mut mode = was.st_mode;
    // only root gives files away, but anybody to a group of their own
    if (is.st_uid, is.st_gid) != (was.st_uid, was.st_gid)
        && fchown(new, Some(owner), Some(group)).is_err()
        && fchown(new, None, Some(group)).is_err()
    {
        // another group has no more rights than everybody
        mode &= !0o070 | (mode & 0o007) << 3;
    }
    fchmod(new, Mode::from_raw_mode(mode))
}
