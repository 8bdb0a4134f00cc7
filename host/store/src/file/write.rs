//! Writing and removing objects.

use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::{Access, Durability, FileStore};
use crate::error::StoreError;
use crate::key::Key;
use crate::store::WriteMode;
use crate::sys;
use crate::temp_names::TempPath;

/// Another program may remove a directory as often as we make it; it will not do so for ever.
const TRIES: usize = 64;

/// Writes to a temporary name in the same directory, then renames: readers, crashes and full
/// disks meet the old object or the new one. This holds in a staged dataset too, where it costs
/// a few microseconds an object, since a reader of the same program may be there.
pub(super) fn write(
    store: &FileStore,
    key: Key<'_>,
    bytes: &[u8],
    mode: WriteMode,
) -> Result<(), StoreError> {
    writable(store, key)?;
    let staged = store.is_staged();
    if !staged {
        store.mark.set(&store.root);
        // a link to a directory is a directory for those who read keys below it; a rename would replace it
        if let Ok(found) = sys::stat_entry(&store.root, key.as_str())
            && FileType::from_raw_mode(found.st_mode) == FileType::Symlink
            && is_directory(store, key)
        {
            return Err(conflict(store, key));
        }
    }
    let (path, file) = create_beside(store, key)?;
    let temporary = Temporary { store, path, named: false };
    let failed = |error| store.io("write", key, error);
    sys::write_all(&file, bytes).map_err(failed)?;
    // asked anew: it may have been published meanwhile
    if store.durability == Durability::PowerLoss && !store.is_staged() {
        sys::sync_file(&file).map_err(failed)?;
    }
    drop(file);
    match mode {
        WriteMode::Replace => temporary.replace(key),
        WriteMode::CreateNew => temporary.become_new(key),
    }
}

pub(super) fn delete(store: &FileStore, key: Key<'_>) -> Result<bool, StoreError> {
    writable(store, key)?;
    match sys::remove_file(&store.root, key.as_str()) {
        Ok(()) => {}
        Err(Errno::NOENT | Errno::NOTDIR) => return store.check_still_there().map(|()| false),
        // Linux says the first of a directory, other systems the second
        Err(Errno::ISDIR | Errno::PERM) if is_directory(store, key) => return Ok(false),
        Err(error) => return Err(store.io("delete", key, error)),
    }
    // what was made on demand goes when it is empty; that one is not empty is what stops this
    for above in key.ancestors().rev() {
        if sys::remove_directory(&store.root, above.as_str()).is_err() {
            break;
        }
    }
    Ok(true)
}

fn writable(store: &FileStore, key: Key<'_>) -> Result<(), StoreError> {
    match store.access {
        Access::ReadWrite => Ok(()),
        Access::Read => Err(StoreError::ReadOnly { at: store.at(key) }),
    }
}

/// A new file beside `key`; directories are made only when one turns out to be missing.
fn create_beside(store: &FileStore, key: Key<'_>) -> Result<(TempPath, OwnedFd), StoreError> {
    let mut last = Errno::NOENT;
    for _ in 0..TRIES {
        let path = store.names.beside(key);
        match sys::create_file(&store.root, path.as_bytes(), store.permissions.file) {
            Ok(file) => return Ok((path, file)),
            Err(Errno::NOENT) => {
                store.check_still_there()?;
                make_parents(store, key)?;
            }
            Err(Errno::EXIST) => last = Errno::EXIST,
            Err(Errno::NOTDIR) => return Err(conflict(store, key)),
            Err(error) => return Err(store.io("write", key, error)),
        }
    }
    Err(store.io("write", key, last))
}

fn make_parents(store: &FileStore, key: Key<'_>) -> Result<(), StoreError> {
    for above in key.ancestors() {
        match sys::make_directory(&store.root, above.as_str(), store.permissions.directory) {
            Ok(()) | Err(Errno::EXIST) => {}
            // removed by another who deletes: begin again
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR) => return Err(conflict(store, key)),
            Err(error) => return Err(store.io("make a directory for", key, error)),
        }
    }
    Ok(())
}

fn is_directory(store: &FileStore, key: Key<'_>) -> bool {
    sys::stat(&store.root, key.as_str())
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// What conflicts with `key`: an object above it, or else the directory of its own name.
fn conflict(store: &FileStore, key: Key<'_>) -> StoreError {
    let object = key.ancestors().find(|above| {
        sys::stat(&store.root, above.as_str())
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) != FileType::Directory)
    });
    let other = object.map_or_else(|| format!("{key}/"), |above| above.as_str().to_owned());
    StoreError::KeyConflict { at: store.at(key), other }
}

/// A temporary file, removed unless it got its name.
struct Temporary<'a> {
    store: &'a FileStore,
    path: TempPath,
    named: bool,
}

impl Temporary<'_> {
    fn replace(self, key: Key<'_>) -> Result<(), StoreError> {
        let root = &self.store.root;
        let from = self.path.as_bytes();
        let renamed = make_way(self.store, key, || sys::rename(root, from, key.as_str()));
        self.judge(key, renamed)
    }

    fn become_new(self, key: Key<'_>) -> Result<(), StoreError> {
        let root = &self.store.root;
        let from = self.path.as_bytes();
        let renamed = make_way(self.store, key, || {
            if let Some(()) = sys::rename_new(root, from, key.as_str())? {
                return Ok(());
            }
            sys::link_new(root, from, key.as_str())?;
            // the object has its name; that it has two for a while does no harm
            let _ = sys::remove_file(root, from);
            Ok(())
        });
        self.judge(key, renamed)
    }

    fn judge(mut self, key: Key<'_>, renamed: Result<(), Errno>) -> Result<(), StoreError> {
        let store = self.store;
        self.named = renamed.is_ok();
        match renamed {
            Ok(()) => Ok(()),
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) if is_directory(store, key) => {
                Err(conflict(store, key))
            }
            Err(Errno::EXIST) => Err(StoreError::AlreadyExists { at: store.at(key) }),
            Err(error) => Err(store.io("write", key, error)),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.named {
            return;
        }
        // if this fails too, the file is one that readers ignore and a later writer removes
        let _ = sys::remove_file(&self.store.root, self.path.as_bytes());
    }
}

/// Renames, once more if only an empty directory was in the way: there is no key below it.
fn make_way(store: &FileStore, key: Key<'_>, rename: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    match rename() {
        Err(error @ (Errno::ISDIR | Errno::EXIST)) => {
            match sys::remove_directory(&store.root, key.as_str()) {
                Ok(()) => rename(),
                Err(_) => Err(error),
            }
        }
        other => other,
    }
}
