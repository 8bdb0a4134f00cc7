//! A dataset in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::listing::list_sorted;
use crate::store::{Capabilities, Depth, Listing, ReadInto, ReadRange, Store, WriteMode, make_room};

/// A dataset in memory, gone with its last owner.
///
/// The lock is held to look a key up, never while bytes are copied or a caller's code runs.
///
/// ```
/// use ncz_store::{Depth, Key, MemoryStore, Prefix, Store, WriteMode};
/// let store = MemoryStore::new("scratch");
/// store.write(Key::parse("a/.zarray")?, b"{}", WriteMode::CreateNew)?;
/// assert_eq!(store.list(Prefix::ROOT, Depth::All, 10)?.entries.len(), 2); // a, a/.zarray
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct MemoryStore {
    name: String,
    objects: RwLock<Objects>,
}

type Objects = BTreeMap<KeyBuf, Arc<[u8]>>;

impl MemoryStore {
    /// An empty store; the name is for messages only.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), objects: RwLock::default() }
    }

    // A panic while the lock is held cannot leave the map half changed: each change is one call.
    fn objects(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn objects_mut(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self, key: Key<'_>) -> Option<Arc<[u8]>> {
        self.objects().get(key.as_str()).cloned()
    }
}

impl fmt::Display for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory:{}", self.name)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            writable: true,
            create_new: true,
            list: true,
            ranges: true,
            atomic_publish: false,
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
        let Some(object) = self.object(key) else {
            return Ok(false);
        };
        let at = || ObjectLocation::object(self, key);
        let range = range.checked(object.len() as u64, max_len, at)?;
        // both ends are at most the length, which is a usize
        let bytes = object.get(range.start as usize..range.end as usize).unwrap_or_default();
        make_room(out, bytes.len(), at)?;
        out.extend_from_slice(bytes);
        Ok(true)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let Some(object) = self.object(key) else {
            return Ok(None);
        };
        let rest = usize::try_from(offset).ok().and_then(|offset| object.get(offset..)).unwrap_or_default();
        let filled = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..filled), rest.get(..filled)) {
            to.copy_from_slice(from);
        }
        Ok(Some(ReadInto { filled, object_len: object.len() as u64 }))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.objects().get(key.as_str()).map(|object| object.len() as u64))
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        // copied before the lock is taken, and the old object is dropped after it is given back
        let new: Arc<[u8]> = Arc::from(bytes);
        let mut objects = self.objects_mut();
        if let Some(object) = objects.get_mut(key.as_str()) {
            if mode == WriteMode::CreateNew {
                return Err(StoreError::AlreadyExists { at: ObjectLocation::object(self, key) });
            }
            let old = std::mem::replace(object, new);
            drop(objects);
            drop(old);
            return Ok(());
        }
        if let Some(other) = conflict(&objects, key) {
            return Err(StoreError::KeyConflict { at: ObjectLocation::object(self, key), other });
        }
        objects.insert(key.to_buf(), new);
        Ok(())
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        let old = self.objects_mut().remove(key.as_str());
        Ok(old.is_some())
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        let objects = self.objects();
        let next = |from: &str| {
            let mut rest = objects.range::<str, _>((Bound::Included(from), Bound::Unbounded));
            rest.next().map(|(key, _)| key.as_key())
        };
        let at = || ObjectLocation::below(self, prefix);
        Ok(Listing { entries: list_sorted(next, prefix, depth, max_entries, at)?, skipped: Vec::new() })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A key that may not be there beside `key`, which itself is not.
fn conflict(objects: &Objects, key: Key<'_>) -> Option<String> {
    if let Some(above) = key.ancestors().find(|above| objects.contains_key(above.as_str())) {
        return Some(above.as_str().to_owned());
    }
    let below = format!("{key}/");
    let next = objects.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded)).next()?.0;
    next.as_str().starts_with(&below).then(|| next.as_str().to_owned())
}
