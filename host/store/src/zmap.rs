//! The operations of netcdf-c's `zmap` on any store, with its keys and its error numbers.

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyError, Prefix};
use crate::store::{Depth, EntryKind, ReadRange, Store, WriteMode};

/// The most children that a key may have.
const MAX_CHILDREN: usize = 1_000_000;

/// The most objects that are removed when a dataset is overwritten or given up.
const MAX_OBJECTS: usize = 10_000_000;

/// A store with the interface of netcdf-c's `zmap` (`libnczarr/zmap.h`): keys begin with a slash, objects are written
/// whole and read in part, and an error has a number, [`StoreError::netcdf_code`].
///
/// As in netcdf-c, a key without content is an error: `NC_EEMPTY` (-139) if there are keys below it,
/// `NC_ENOOBJECT` (-141) if there are none.
///
/// ```
/// use ncz_store::{Clobber, MemoryStore, ZMap};
/// let map = ZMap::create(MemoryStore::new("example"), Clobber::No)?;
/// map.write("/g/.zgroup", b"{}")?;
/// assert_eq!(map.len("/g/.zgroup")?, 2);
/// assert_eq!(map.search("/")?, ["g"]);
/// assert_eq!(map.exists("/g").unwrap_err().netcdf_code(), -139); // NC_EEMPTY
/// assert_eq!(map.exists("/h").unwrap_err().netcdf_code(), -141); // NC_ENOOBJECT
/// map.close(false)?;
/// # Ok::<(), ncz_store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct ZMap<S> {
    store: S,
}

/// What [`ZMap::create`] does with existing objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clobber {
    /// Refuses, and leaves them: `NC_NOCLOBBER`.
    No,
    /// Removes them: `NC_CLOBBER`.
    Yes,
}

impl<S: Store> ZMap<S> {
    /// The map over an existing dataset.
    pub fn open(store: S) -> Self {
        Self { store }
    }

    /// The map over a new dataset. What exists at the path of a store that is created there is
    /// subject to the options of that store.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] (`NC_EOBJECT`) if there are objects that must not be
    /// removed, and I/O errors.
    pub fn create(store: S, clobber: Clobber) -> Result<Self, StoreError> {
        let map = Self { store };
        match clobber {
            Clobber::Yes => map.remove_objects()?,
            Clobber::No if map.is_empty()? => {}
            Clobber::No => return Err(StoreError::AlreadyExists { at: ObjectLocation::store(&map.store) }),
        }
        Ok(map)
    }

    /// Whether a key has content.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoContent`] or [`StoreError::NoObject`] if it has none, and I/O errors.
    pub fn exists(&self, key: &str) -> Result<(), StoreError> {
        self.len(key).map(drop)
    }

    /// The length of the content of a key.
    ///
    /// # Errors
    ///
    /// As [`exists`](Self::exists).
    pub fn len(&self, key: &str) -> Result<u64, StoreError> {
        let location = parse(key)?;
        match location.key {
            Some(key) => self.store.len(key)?.ok_or_else(|| self.missing(location)),
            None => Err(self.missing(location)),
        }
    }

    /// Whether there are no keys at all.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(!self.leads_further(Prefix::ROOT)?)
    }

    /// Reads `count` bytes of the content of a key from `start` on into `out`.
    ///
    /// # Errors
    ///
    /// [`StoreError::OutOfRange`] (`NC_EEDGE`) if it does not have them, and as [`exists`](Self::exists).
    pub fn read(&self, key: &str, start: u64, count: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let location = parse(key)?;
        let range = ReadRange::Bounded { offset: start, len: count };
        let found = match location.key {
            Some(key) => self.store.read(key, range, count, out)?,
            None => false,
        };
        if found { Ok(()) } else { Err(self.missing(location)) }
    }

    /// Writes the whole content of a key.
    ///
    /// # Errors
    ///
    /// [`StoreError::KeyConflict`] (`NC_EOBJECT`) for a key that has keys below it or is below
    /// an object, [`StoreError::NoContent`] for the root, and I/O errors.
    pub fn write(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let location = parse(key)?;
        let Some(key) = location.key else {
            return Err(StoreError::NoContent { at: ObjectLocation::store(&self.store) });
        };
        self.store.write(key, bytes, WriteMode::Replace)
    }

    /// The names directly below a key, each once, sorted by their bytes; `/` is the root.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooManyEntries`], and I/O errors.
    pub fn search(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let listing = self.store.list(parse(prefix)?.prefix, Depth::One, MAX_CHILDREN)?;
        let mut names: Vec<String> =
            listing.entries.iter().map(|entry| entry.key.as_key().name().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Closes the map: publishes what was written, or removes it with `delete`, which is for a
    /// creation that failed.
    ///
    /// # Errors
    ///
    /// As [`Store::publish`], and I/O errors.
    pub fn close(self, delete: bool) -> Result<(), StoreError> {
        if delete { self.remove_objects() } else { self.store.publish() }
    }

    /// The store below.
    pub fn store(&self) -> &S {
        &self.store
    }

    fn missing(&self, location: Parsed<'_>) -> StoreError {
        let at = ObjectLocation::below(&self.store, location.prefix);
        match self.leads_further(location.prefix) {
            Ok(true) => StoreError::NoContent { at },
            Ok(false) => StoreError::NoObject { at },
            Err(error) => error,
        }
    }

    fn leads_further(&self, prefix: Prefix<'_>) -> Result<bool, StoreError> {
        match self.store.list(prefix, Depth::One, 1) {
            Ok(listing) => Ok(!listing.entries.is_empty()),
            Err(StoreError::TooManyEntries { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn remove_objects(&self) -> Result<(), StoreError> {
        let listing = self.store.list(Prefix::ROOT, Depth::All, MAX_OBJECTS)?;
        for entry in listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object) {
            self.store.delete(entry.key.as_key())?;
        }
        Ok(())
    }
}

/// A key of netcdf-c; its root is not a key of a store.
#[derive(Clone, Copy)]
struct Parsed<'a> {
    key: Option<Key<'a>>,
    prefix: Prefix<'a>,
}

fn parse(text: &str) -> Result<Parsed<'_>, KeyError> {
    let rest = text.strip_prefix('/').ok_or_else(|| KeyError::Relative { key: text.to_owned() })?;
    if rest.is_empty() {
        return Ok(Parsed { key: None, prefix: Prefix::ROOT });
    }
    let key = Key::parse(rest)?;
    Ok(Parsed { key: Some(key), prefix: key.into() })
}
