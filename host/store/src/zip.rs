//! A dataset in a zip archive: one entry an object.

mod archive;
mod assemble;
mod buffered_file;
mod end_record;
mod format;
mod journal;
mod layout;
mod open;
mod pending;
mod publish;
mod read;
mod stage;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::layout::ZipLayout;

use self::archive::Archive;
use self::pending::{ObjectSource, PendingChanges};
use self::read::Reader;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::listing::list_sorted;
use crate::options::{Access, CreateOptions, Durability, FilePermissions};
use crate::parent_dir;
use crate::store::{Capabilities, Depth, Leftover, Listing, ReadInto, ReadRange, Store, WriteMode};

/// A dataset in a zip archive: the object `a/b` is the entry `a/b`, or `PREFIX/a/b`.
///
/// **Reading.** The directory of the archive is read once, when it is opened. After that a stored
/// entry, whole or in part, is one read of exactly its bytes (and, the first time,
/// one of its local header); a deflated one is inflated from its beginning, since there is no way
/// into its middle. Readers share nothing that one of them could hold up: without a writer there
/// is not a lock. Whole objects are checked against their CRC-32, and deflated ones also where a
/// range reaches their end. Entries that cannot be read (encrypted, of another method, of lengths
/// that cannot be true, sharing bytes with others) are listed, and reading them is an error: if they
/// were treated as missing, they would read as fill. Entries that are not keys of the dataset (outside
/// its prefix, with `..`) are reported in [`Listing::skipped`].
///
/// **Writing.** Objects are stored, not deflated, since chunks are compressed already. They go to a
/// hidden file beside the archive, `.NAME.ncz-…`, at once, from as many threads as there are, and
/// are read from there. Other programs see nothing of it until [`publish`](Store::publish); dropping
/// the store unpublished removes the hidden file and leaves the archive as it was. [`sync`](Store::sync)
/// does nothing: only publishing makes a change, and makes it durable. What is written after
/// publishing waits to be published again.
///
/// **Publishing.** A new archive gets its directory and its name; that of one that exists is given
/// to a copy, in which the entries that stay are copied as they are, bytes, methods, times,
/// attributes and comments, without being compressed again. Entries that are not keys stay too. What
/// was overwritten or deleted is left out, with one exception: if a *new* archive of more than 64
/// MiB has less than an eighth of such bytes they stay in it as gaps, which no reader minds
/// that goes by the directory, since leaving them out takes a second copy. The result is read back before it replaces anything.
/// If the archive was changed or replaced meanwhile nothing is published. At every moment
/// the path names the complete old archive or the complete new one.
///
/// **The journal**, [`Key::JOURNAL`], is not an entry but the file `.NAME.ncz-journal` beside the archive, written at once.
///
/// ```
/// use ncz_store::{Access, CreateOptions, Key, Store, StoreExt, WriteMode, ZipLayout, ZipStore};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new.zip");
/// let store = ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat)?;
/// store.write(Key::parse(".zgroup")?, br#"{"zarr_format":2}"#, WriteMode::Replace)?;
/// assert!(!path.exists());
/// store.publish()?;
///
/// let store = ZipStore::open(&path, Access::Read, ZipLayout::Automatic)?;
/// assert!(store.exists(Key::parse(".zgroup")?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ZipStore {
    /// The path of the archive, now or when it is published; for messages.
    path: PathBuf,
    contents: Contents,
}

/// What the store holds.
enum Contents {
    /// An archive that is only read: it needs no lock.
    Fixed(Arc<Archive>),
    PendingChanges(Box<PendingChanges>),
}

impl ZipStore {
    /// Opens an archive that exists.
    ///
    /// To be written to, the archive must be writable, and so must be the directory that it is in.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`]; [`StoreError::NotADataset`] if the path is not a file;
    /// [`StoreError::EmptyArchive`] without an entry; [`StoreError::BadArchive`] if it is not a
    /// archive or its directory cannot be believed; [`StoreError::AmbiguousPrefix`] where several
    /// datasets lie in it side by side; and I/O errors.
    pub fn open(path: impl AsRef<Path>, access: Access, layout: ZipLayout) -> Result<Self, StoreError> {
        open::open(path.as_ref(), access, &layout)
    }

    /// Begins a new archive at `path`, whose parent directory must exist.
    ///
    /// Nothing is to be seen at `path` until [`Store::publish`]; an unpublished archive disappears
    /// with its store. With a prefix, entries are made for directories too, as netcdf-c does.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] if something is there and replacing was not asked for;
    /// [`StoreError::NotADataset`] if it was and that is not a dataset in an archive;
    /// [`StoreError::NotFound`] without the parent directory; and I/O errors.
    pub fn create(
        path: impl AsRef<Path>,
        options: CreateOptions,
        layout: ZipLayout,
    ) -> Result<Self, StoreError> {
        open::create(path.as_ref(), options, layout)
    }

    /// The same store with another promise; for [`open`](Self::open).
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        if let Contents::PendingChanges(changing) = &mut self.contents {
            changing.durability = durability;
        }
        self
    }

    /// The path of the archive, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The prefix of the dataset in the archive; `None` if its keys begin at the root.
    #[must_use]
    pub fn prefix(&self) -> Option<Key<'_>> {
        let prefix = match &self.contents {
            Contents::Fixed(archive) => &archive.prefix,
            Contents::PendingChanges(changing) => &changing.prefix,
        };
        prefix.as_ref().map(|prefix| prefix.as_key())
    }

    fn at(&self, key: Key<'_>) -> ObjectLocation {
        ObjectLocation::object(self, key)
    }

    fn changing(&self, key: Key<'_>) -> Result<&PendingChanges, StoreError> {
        match &self.contents {
            Contents::PendingChanges(changing) => Ok(changing),
            Contents::Fixed(_) => Err(StoreError::ReadOnly { at: self.at(key) }),
        }
    }

    /// Calls `action` with the bytes of an object, outside of any lock; `None` if it is missing.
    fn with_object<T>(
        &self,
        key: Key<'_>,
        action: impl FnOnce(Reader<'_, &dyn Fn() -> ObjectLocation>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let at = || self.at(key);
        let shared;
        let archive = match &self.contents {
            Contents::Fixed(archive) => archive,
            Contents::PendingChanges(changing) => match changing.find(key) {
                ObjectSource::Missing => return Ok(None),
                ObjectSource::Staged(file, entry) => {
                    let reader =
                        Reader { file: &file, limit: u64::MAX, entry: &entry, at: &at as &dyn Fn() -> _ };
                    return action(reader).map(Some);
                }
                ObjectSource::Archived(archive) => {
                    shared = archive;
                    &shared
                }
            },
        };
        let Some(entry) = archive.objects.get(key.as_str()) else {
            return Ok(None);
        };
        let reader =
            Reader { file: &archive.file, limit: archive.directory, entry, at: &at as &dyn Fn() -> _ };
        action(reader).map(Some)
    }
}

impl fmt::Display for ZipStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

impl fmt::Debug for ZipStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipStore")
            .field("path", &self.path)
            .field("prefix", &self.prefix())
            .field("writable", &matches!(self.contents, Contents::PendingChanges(_)))
            .finish_non_exhaustive()
    }
}

impl Store for ZipStore {
    fn capabilities(&self) -> Capabilities {
        let writable = matches!(self.contents, Contents::PendingChanges(_));
        Capabilities {
            writable,
            create_new: writable,
            list: true,
            ranges: true,
            atomic_publish: true,
            deferred_writes: writable,
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
        if key == Key::JOURNAL {
            out.clear();
            let Some(bytes) = journal::read(self, max_len)? else { return Ok(false) };
            let range = range.checked(bytes.len() as u64, max_len, || self.at(key))?;
            // both ends are at most the length, which is a usize
            out.extend_from_slice(bytes.get(range.start as usize..range.end as usize).unwrap_or_default());
            return Ok(true);
        }
        let found = self.with_object(key, |reader| reader.read(range, max_len, out));
        if !matches!(found, Ok(Some(()))) {
            out.clear();
        }
        Ok(found?.is_some())
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.with_object(key, |reader| reader.read_into(offset, out))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.with_object(key, |reader| reader.check_readable().map(|()| reader.entry.len))
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        let changing = self.changing(key)?;
        if key == Key::JOURNAL {
            return journal::write(self, changing, bytes, mode);
        }
        changing.write(self, key, bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        let changing = self.changing(key)?;
        if key == Key::JOURNAL {
            return journal::delete(self, changing);
        }
        Ok(changing.delete(key))
    }

    fn leftovers(&self) -> Vec<Leftover> {
        parent_dir::leftovers_beside(&self.path)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        let at = || ObjectLocation::below(self, prefix);
        match &self.contents {
            Contents::Fixed(archive) => {
                let next = |from: &str| archive.next(from);
                let entries = list_sorted(next, prefix, depth, max_entries, at)?;
                archive.with_skipped(entries, prefix, max_entries, at)
            }
            Contents::PendingChanges(changing) => {
                let state = changing.state();
                let entries = list_sorted(|from| state.next(from), prefix, depth, max_entries, at)?;
                match &state.base {
                    Some(archive) => archive.with_skipped(entries, prefix, max_entries, at),
                    None => Ok(Listing { entries, skipped: Vec::new() }),
                }
            }
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        match &self.contents {
            Contents::PendingChanges(changing) => publish::publish(self, changing),
            Contents::Fixed(_) => Ok(()),
        }
    }
}
