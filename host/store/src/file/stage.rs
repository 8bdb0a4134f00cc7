//! A new dataset: built in a hidden directory beside its target, made visible by one rename.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{FileType, FlockOperation, Mode, fchmod, flock, fstat};
use rustix::io::Errno;

use super::{FileStore, open_error};
use crate::error::{ObjectLocation, StoreError};
use crate::options::{Access, CreateOptions, Durability, Predicate};
use crate::parent_dir::{self, ParentDir, parent_of};
use crate::temp_names::TempNames;
use crate::{remove_tree, sys};

/// What is left to do for a dataset that is not yet visible.
pub(super) struct Stage {
    /// The name of the hidden directory, beside the target.
    pub(super) hidden: OsString,
    replace_if: Option<Predicate>,
}

pub(super) fn create(path: &Path, options: CreateOptions) -> Result<FileStore, StoreError> {
    let Some(name) = path.file_name() else {
        return Err(not_a_dataset(path, "has no name of its own to be created under"));
    };
    let above = parent_of(path);
    let parent = sys::open_directory(rustix::fs::CWD, above).map_err(|error| open_error(above, error))?;
    let parent = ParentDir { dir: parent, name: name.to_owned() };
    check_target(path, &parent, options.replace_if.as_ref())?;
    parent.clean_stages(parent_dir::OLD_STAGE);

    let names = TempNames::default();
    let (hidden, root) = make_hidden(&parent, &names, options.permissions.directory).map_err(|error| {
        StoreError::from_io("create", ObjectLocation::store(path.display()), error.into())
    })?;
    let mut store =
        FileStore::new(root, path.to_owned(), Some(parent), Access::ReadWrite, options.durability);
    store.names = names;
    store.permissions = options.permissions;
    *store.staged.get_mut() = true;
    *store.stage.get_mut().unwrap_or_else(PoisonError::into_inner) =
        Some(Stage { hidden, replace_if: options.replace_if });
    Ok(store)
}

pub(super) fn publish(store: &FileStore) -> Result<(), StoreError> {
    let mut slot = store.stage.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(stage), Some(parent)) = (slot.as_ref(), &store.parent) else {
        return Ok(());
    };
    if store.durability == Durability::PowerLoss {
        // from here on a late writer waits for the disk by itself
        store.staged.store(false, Ordering::Release);
    }
    let published = flush_and_rename(store, stage, parent);
    match published {
        Ok(old) => {
            store.staged.store(false, Ordering::Release);
            let _ = flock(&store.root, FlockOperation::NonBlockingUnlock);
            *slot = None;
            let synced = match store.durability {
                Durability::PowerLoss => sys::sync_file(&parent.dir),
                Durability::Process => Ok(()),
            };
            if let Err(error) = synced {
                // a power failure could still undo the rename: the old dataset is kept
                let kept = old.map(|old| beside(store, &parent.keep(&store.names, old.name)));
                return Err(StoreError::NotDurable {
                    at: ObjectLocation::store(store),
                    old: kept,
                    source: error.into(),
                });
            }
            let Some(old) = &old else {
                return Ok(());
            };
            remove_tree::remove(&parent.dir, &old.name, &old.directory).map_err(|error| {
                StoreError::NotRemoved { location: beside(store, &old.name), source: error.into() }
            })
        }
        Err(error) => {
            store.staged.store(true, Ordering::Release);
            Err(error)
        }
    }
}

/// The dataset that was replaced, under the name that it was given.
struct Old {
    directory: OwnedFd,
    name: OsString,
}

fn flush_and_rename(store: &FileStore, stage: &Stage, parent: &ParentDir) -> Result<Option<Old>, StoreError> {
    let failed = |error| publish_error(store, error);
    if store.durability == Durability::PowerLoss {
        sys::sync_file_system(&store.root).map_err(failed)?;
    }
    let Some(old) = check_target(&store.path, parent, stage.replace_if.as_ref())? else {
        return match rename_to_free_name(parent, stage) {
            Ok(()) => Ok(None),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => Err(already(&store.path)),
            Err(error) => Err(failed(error)),
        };
    };
    // the permissions stay those of before
    let mode = fstat(&old).map_err(failed)?.st_mode;
    fchmod(&store.root, Mode::from_raw_mode(mode)).map_err(failed)?;
    let _ = flock(&old, FlockOperation::NonBlockingLockExclusive);
    let name = swap(store, stage, parent, &old)?;
    Ok(Some(Old { directory: old, name }))
}

/// Puts the stage in the place of `old` and gives the name that the old one has now.
fn swap(store: &FileStore, stage: &Stage, parent: &ParentDir, old: &OwnedFd) -> Result<OsString, StoreError> {
    let failed = |error| publish_error(store, error);
    let target = parent.name.as_os_str();
    let is_old = |name: &OsStr| {
        let (Ok(there), Ok(ours)) = (sys::stat_entry(&parent.dir, name), fstat(old)) else {
            return false;
        };
        sys::same(&there, &ours)
    };
    if let Some(()) = sys::exchange(&parent.dir, &*stage.hidden, target).map_err(failed)? {
        if is_old(&stage.hidden) {
            return Ok(stage.hidden.clone());
        }
        // what was asked about is no longer what was there: give it back
        sys::exchange(&parent.dir, &*stage.hidden, target).map_err(failed)?;
        return Err(already(&store.path));
    }
    let aside = store.names.aside(target);
    sys::rename(&parent.dir, target, &*aside).map_err(failed)?;
    let back = || {
        sys::rename(&parent.dir, &*aside, target).map_err(|source| StoreError::SetAside {
            location: beside(store, &aside),
            target: store.to_string(),
            source: source.into(),
        })
    };
    if is_old(&aside) {
        match rename_to_free_name(parent, stage) {
            Ok(()) => return Ok(aside),
            Err(error) => {
                back()?;
                return Err(failed(error));
            }
        }
    }
    back()?;
    Err(already(&store.path))
}

/// Renames where nothing is. Without the system's help there is a moment in which somebody may
/// put an empty directory there; anything else makes the plain rename of a directory fail.
fn rename_to_free_name(parent: &ParentDir, stage: &Stage) -> Result<(), Errno> {
    if let Some(()) = sys::rename_new(&parent.dir, &*stage.hidden, &*parent.name)? {
        return Ok(());
    }
    match sys::stat_entry(&parent.dir, &*parent.name) {
        Err(Errno::NOENT) => sys::rename(&parent.dir, &*stage.hidden, &*parent.name),
        Err(error) => Err(error),
        Ok(_) => Err(Errno::EXIST),
    }
}

/// `None`: nothing is at the target. `Some`: a dataset that may be replaced.
fn check_target(
    path: &Path,
    parent: &ParentDir,
    replace_if: Option<&Predicate>,
) -> Result<Option<OwnedFd>, StoreError> {
    let failed = |error: Errno| open_error(path, error);
    let found = match sys::stat_entry(&parent.dir, &*parent.name) {
        Err(Errno::NOENT) => return Ok(None),
        found => found.map_err(failed)?,
    };
    let Some(replace_if) = replace_if else {
        return Err(already(path));
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => {}
        FileType::Symlink => {
            return Err(not_a_dataset(
                path,
                "is a symbolic link, which is not followed to replace what it leads to",
            ));
        }
        _ => return Err(not_a_dataset(path, "is not a directory")),
    }
    let directory = match sys::open_real_directory(&parent.dir, &*parent.name) {
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(not_a_dataset(path, "is not a directory")),
        opened => opened.map_err(failed)?,
    };
    let looked_at = sys::open_directory(&directory, ".").map_err(failed)?;
    let existing = FileStore::new(looked_at, path.to_owned(), None, Access::Read, Durability::Process);
    if !replace_if(&existing)? {
        return Err(not_a_dataset(path, "is a directory, but not a dataset that may be replaced"));
    }
    Ok(Some(directory))
}

fn make_hidden(parent: &ParentDir, names: &TempNames, mode: u32) -> Result<(OsString, OwnedFd), Errno> {
    loop {
        let hidden = names.stage(&parent.name);
        match sys::make_directory(&parent.dir, &*hidden, mode) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                match sys::open_real_directory(&parent.dir, &*hidden) {
                    Ok(root) if parent.claim(&hidden, &root) => return Ok((hidden, root)),
                    // another program that cleans up was faster
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(error) => {
                        let _ = sys::remove_directory(&parent.dir, &*hidden);
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn beside(store: &FileStore, name: &OsStr) -> String {
    parent_of(&store.path).join(name).display().to_string()
}

fn publish_error(store: &FileStore, error: Errno) -> StoreError {
    StoreError::from_io("publish", ObjectLocation::store(store), error.into())
}

fn already(path: &Path) -> StoreError {
    StoreError::AlreadyExists { at: ObjectLocation::store(path.display()) }
}

fn not_a_dataset(path: &Path, reason: &'static str) -> StoreError {
    StoreError::NotADataset { location: path.display().to_string(), reason }
}
