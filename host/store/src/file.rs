//! A dataset in a directory: one file an object.

mod leftovers;
mod list;
mod read;
mod stage;
#[cfg(test)]
mod tests;

mod write;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use self::leftovers::WriterMark;
use self::stage::Stage;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::options::{Access, CreateOptions, Durability, FilePermissions};
use crate::parent_dir::{self, ParentDir, parent_of};
use crate::store::{
    Capabilities, Depth, DirectoryId, Leftover, Listing, ReadInto, ReadRange, Stamp, Store, WriteMode,
};
use crate::temp_names::TempNames;
use crate::{remove_tree, sys};

/// A dataset in a directory: the object `a/b` is the file `a/b` below it.
///
/// [`create`](Self::create) builds a new dataset in a hidden directory beside its target,
/// `.NAME.ncz-…`; [`publish`](Store::publish) gives it its name, and dropping it unpublished
/// removes it. An object is written under a temporary name beside its own, then renamed.
///
/// The store holds the directory open: it stays with its dataset when the working directory
/// changes. If the dataset is removed or replaced by another program meanwhile, a missing object
/// is an error, so that a removed chunk is not taken for an empty one.
///
/// ```
/// use ncz_store::{Access, CreateOptions, FileStore, Key, Store, StoreExt, WriteMode};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new.zarr");
/// let store = FileStore::create(&path, CreateOptions::new())?;
/// store.write(Key::parse(".zgroup")?, br#"{"zarr_format":2}"#, WriteMode::Replace)?;
/// assert!(!path.exists());
/// store.publish()?;
///
/// let store = FileStore::open(&path, Access::Read)?;
/// assert!(store.exists(Key::parse(".zgroup")?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileStore {
    /// The directory of the dataset; relative to it every key is opened.
    root: OwnedFd,
    /// The path of the dataset, now or when it is published; for messages.
    path: PathBuf,
    /// Its entry in the directory above; none for `/` and for what ends in `..`.
    parent: Option<ParentDir>,
    access: Access,
    durability: Durability,
    permissions: FilePermissions,
    names: TempNames,
    /// True until a new dataset is published. Kept beside `stage` for the hot path.
    staged: AtomicBool,
    stage: Mutex<Option<Stage>>,
    mark: WriterMark,
}

impl FileStore {
    /// Opens the dataset in an existing directory.
    ///
    /// The store does not check whether the directory holds a dataset.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::NotADataset`] if the path is not a directory, and
    /// the failures of the system.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let failed = |error| open_error(path, error);
        let root = sys::open_directory(rustix::fs::CWD, path).map_err(failed)?;
        let parent = match path.file_name() {
            Some(name) => {
                let parent = sys::open_directory(rustix::fs::CWD, parent_of(path)).map_err(failed)?;
                Some(ParentDir { dir: parent, name: name.to_owned() })
            }
            None => None,
        };
        let store = Self::new(root, path.to_owned(), parent, access, Durability::default());
        if access == Access::ReadWrite {
            leftovers::clean(&store, leftovers::OLD);
            if let Some(parent) = &store.parent {
                parent.clean_stages(parent_dir::OLD_STAGE);
            }
        }
        Ok(store)
    }

    /// Begins a new dataset at `path`, whose parent directory must exist.
    ///
    /// Nothing appears at `path` until [`Store::publish`]; an unpublished dataset disappears when its
    /// store is dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] if something is there and replacing was not asked for;
    /// [`StoreError::NotADataset`] if it was and that is not a dataset; [`StoreError::NotFound`]
    /// without the parent directory; and I/O errors.
    pub fn create(path: impl AsRef<Path>, options: CreateOptions) -> Result<Self, StoreError> {
        stage::create(path.as_ref(), options)
    }

    /// Sets the durability of writes; for [`open`](Self::open).
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the permissions of new files and directories; for [`open`](Self::open).
    #[must_use]
    pub fn with_permissions(mut self, permissions: FilePermissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// The directory of the dataset, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(
        root: OwnedFd,
        path: PathBuf,
        parent: Option<ParentDir>,
        access: Access,
        durability: Durability,
    ) -> Self {
        Self {
            root,
            path,
            parent,
            access,
            durability,
            permissions: FilePermissions::default(),
            names: TempNames::default(),
            staged: AtomicBool::new(false),
            stage: Mutex::new(None),
            mark: WriterMark::default(),
        }
    }

    fn at(&self, key: Key<'_>) -> ObjectLocation {
        ObjectLocation::object(self, key)
    }

    fn io(&self, action: &'static str, key: Key<'_>, error: Errno) -> StoreError {
        StoreError::from_io(action, self.at(key), error.into())
    }

    fn is_staged(&self) -> bool {
        self.staged.load(Ordering::Acquire)
    }

    /// Checks that the dataset is still where it was opened. If it was removed or replaced, a missing
    /// object means nothing.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if self.is_staged() {
            return Ok(());
        }
        let Ok(ours) = rustix::fs::fstat(&self.root) else {
            return Err(self.gone());
        };
        let there = match &self.parent {
            Some(parent) => match sys::stat(&parent.dir, &parent.name) {
                Ok(found) => sys::same(&found, &ours),
                // that it cannot be looked at does not say that it has gone
                Err(error) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
            },
            None => ours.st_nlink > 0,
        };
        if there { Ok(()) } else { Err(self.gone()) }
    }

    fn gone(&self) -> StoreError {
        StoreError::Gone { store: self.to_string() }
    }
}

impl fmt::Display for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("path", &self.path)
            .field("access", &self.access)
            .field("staged", &self.is_staged())
            .finish_non_exhaustive()
    }
}

impl Store for FileStore {
    fn capabilities(&self) -> Capabilities {
        let writable = self.access == Access::ReadWrite;
        Capabilities {
            writable,
            create_new: writable,
            list: true,
            ranges: true,
            atomic_publish: true,
            deferred_writes: false,
            local: true,
            key_conflicts: true,
            in_flight: 0,
        }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        out.clear();
        let found = read::read(self, key, range, max_len, out);
        if !matches!(found, Ok(true)) {
            out.clear();
        }
        found
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        read::read_into(self, key, offset, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        read::len(self, key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        read::stamp(self, key)
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        write::write(self, key, bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        write::delete(self, key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        list::list(self, prefix, depth, max_entries)
    }

    fn leftovers(&self) -> Vec<Leftover> {
        let inside = leftovers::find(self, Leftover::MOST)
            .into_iter()
            .map(|name| Leftover { path: self.path.join(name).display().to_string(), is_removed: true });
        let beside = self.parent.iter().flat_map(|parent| parent.leftovers()).map(|(name, is_removed)| {
            Leftover { path: parent_of(&self.path).join(name).display().to_string(), is_removed }
        });
        inside.chain(beside).take(Leftover::MOST).collect()
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        list::directory_id(self, prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        // no other program sees a staged dataset; publishing makes it durable as a whole
        if self.durability == Durability::Process || self.access == Access::Read || self.is_staged() {
            return Ok(());
        }
        sys::sync_file_system(&self.root)
            .map_err(|error| StoreError::from_io("flush", ObjectLocation::store(self), error.into()))
    }

    fn publish(&self) -> Result<(), StoreError> {
        stage::publish(self)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let stage = self.stage.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(stage), Some(parent)) = (stage, &self.parent) {
            // `drop` cannot report a failure; a later `create` tries again
            let _ = remove_tree::remove(&parent.dir, &stage.hidden, &self.root);
        }
        self.mark.remove(&self.root);
    }
}

fn open_error(path: &Path, error: Errno) -> StoreError {
    let location = path.display().to_string();
    match error {
        Errno::NOENT => StoreError::NotFound { location },
        Errno::NOTDIR => StoreError::NotADataset { location, reason: "is not a directory" },
        error => StoreError::from_io("open", ObjectLocation::store(location), io::Error::from(error)),
    }
}
