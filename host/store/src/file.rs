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
use crate::error::{Location, StoreError};
use crate::home::{self, Home, parent_of};
use crate::key::{Key, Prefix};
use crate::names::Names;
use crate::options::{Access, CreateOptions, Durability, FilePermissions};
use crate::store::{Capabilities, Depth, Leftover, Listing, ReadInto, ReadRange, Store, WriteMode};
use crate::visited::DirectoryId;
use crate::{sys, tree};

/// A dataset in a directory: the object `a/b` is the file `a/b` below it.
///
/// [`create`](Self::create) builds a new dataset in a hidden directory beside its target,
/// `.NAME.ncz-…`; [`publish`](Store::publish) gives it its name, and dropping it unpublished
/// removes it. An object is written under a temporary name beside its own, then renamed.
///
/// The store holds the directory open: it stays with its dataset when the working directory
/// changes. If the dataset is removed or replaced by another program meanwhile, a missing object
/// is an error, so that nobody takes a removed chunk for an empty one.
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
    /// Where the dataset is, or will be when it is published; for messages.
    path: PathBuf,
    /// Its entry in the directory above; none for `/` and for what ends in `..`.
    home: Option<Home>,
    access: Access,
    durability: Durability,
    permissions: FilePermissions,
    names: Names,
    /// True until a new dataset is published. Kept beside `stage` for the hot path.
    staged: AtomicBool,
    stage: Mutex<Option<Stage>>,
    mark: WriterMark,
}

impl FileStore {
    /// Opens the dataset in an existing directory.
    ///
    /// Whether there *is* a dataset in the directory is not for the store to judge.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::NotADataset`] where the path is no directory, and
    /// the failures of the system.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let failed = |error| open_error(path, error);
        let root = sys::open_directory(rustix::fs::CWD, path).map_err(failed)?;
        let home = match path.file_name() {
            Some(name) => {
                let parent = sys::open_directory(rustix::fs::CWD, parent_of(path)).map_err(failed)?;
                Some(Home { parent, name: name.to_owned() })
            }
            None => None,
        };
        let store = Self::new(root, path.to_owned(), home, access, Durability::default());
        if access == Access::ReadWrite {
            leftovers::clean(&store, leftovers::OLD);
            if let Some(home) = &store.home {
                home.clean_stages(home::OLD_STAGE);
            }
        }
        Ok(store)
    }

    /// Begins a new dataset at `path`, whose parent directory must exist.
    ///
    /// Nothing is to be seen at `path` until [`Store::publish`]; an unpublished dataset disappears
    /// with its store.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] if something is there and replacing was not asked for;
    /// [`StoreError::NotADataset`] if it was and that is not a dataset; [`StoreError::NotFound`]
    /// without the parent directory; and the failures of the system.
    pub fn create(path: impl AsRef<Path>, options: CreateOptions) -> Result<Self, StoreError> {
        stage::create(path.as_ref(), options)
    }

    /// The same store with another promise; for [`open`](Self::open).
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The same store, giving other permissions to what it makes; for [`open`](Self::open).
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

    fn new(root: OwnedFd, path: PathBuf, home: Option<Home>, access: Access, durability: Durability) -> Self {
        Self {
            root,
            path,
            home,
            access,
            durability,
            permissions: FilePermissions::default(),
            names: Names::default(),
            staged: AtomicBool::new(false),
            stage: Mutex::new(None),
            mark: WriterMark::default(),
        }
    }

    fn at(&self, key: Key<'_>) -> Location {
        Location::object(self, key)
    }

    fn io(&self, action: &'static str, key: Key<'_>, error: Errno) -> StoreError {
        StoreError::from_io(action, self.at(key), error.into())
    }

    fn is_staged(&self) -> bool {
        self.staged.load(Ordering::Acquire)
    }

    /// Asked when an object is missing: is the dataset still where it was opened? If it was
    /// removed or replaced, that the object is missing means nothing.
    fn check_still_there(&self) -> Result<(), StoreError> {
        if self.is_staged() {
            return Ok(());
        }
        let Ok(ours) = rustix::fs::fstat(&self.root) else {
            return Err(self.gone());
        };
        let there = match &self.home {
            Some(home) => match sys::stat(&home.parent, &home.name) {
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
            if_version: false,
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
        let beside = self.home.iter().flat_map(|home| home.leftovers()).map(|(name, is_removed)| Leftover {
            path: parent_of(&self.path).join(name).display().to_string(),
            is_removed,
        });
        inside.chain(beside).take(Leftover::MOST).collect()
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        list::directory_id(self, prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        // nobody else sees a staged dataset; publishing makes it durable as a whole
        if self.durability == Durability::Process || self.access == Access::Read || self.is_staged() {
            return Ok(());
        }
        sys::sync_file_system(&self.root)
            .map_err(|error| StoreError::from_io("flush", Location::store(self), error.into()))
    }

    fn publish(&self) -> Result<(), StoreError> {
        stage::publish(self)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let stage = self.stage.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(stage), Some(home)) = (stage, &self.home) {
            // nobody is left who could be told of a failure; a later `create` tries again
            let _ = tree::remove(&home.parent, &stage.hidden, &self.root);
        }
        self.mark.remove(&self.root);
    }
}

fn open_error(path: &Path, error: Errno) -> StoreError {
    let place = path.display().to_string();
    match error {
        Errno::NOENT => StoreError::NotFound { place },
        Errno::NOTDIR => StoreError::NotADataset { place, reason: "is not a directory" },
        error => StoreError::from_io("open", Location::store(place), io::Error::from(error)),
    }
}
