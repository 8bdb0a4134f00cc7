//! The stored bytes of the chunks of a new file, by key.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ncz_model::{ChunkError, ChunkIndex, ChunkLocation, ObjectKeys, Variable};
use ncz_store::{
    Capabilities, Depth, Key, Listing, NewFile, ObjectLocation, Prefix, ReadInto, ReadRange, Store,
    StoreError, WriteMode,
};

use crate::classic::layout::Layout;

/// The key of the file itself.
pub(super) const FILE: &str = "file";

/// The bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) len: u64,
    /// The filters that were skipped, as bits.
    pub(super) filter_mask: u32,
}

impl Place {
    pub(super) fn new(offset: u64, len: u64) -> Self {
        Self { offset, len, filter_mask: 0 }
    }
}

/// Where the elements of a variable are.
#[derive(Debug)]
pub(super) enum Elements {
    /// In one block, or one in each record. A chunk is cut where the array ends.
    Region {
        layout: Layout,
        /// The numbers of the chunks that are written.
        written: Mutex<BTreeSet<u64>>,
    },
    /// In the file, chunk by chunk.
    Chunks(Mutex<BTreeMap<u64, Place>>),
    /// In a scratch file, chunk by chunk: the count of the strings, then the length and the bytes of each.
    Strings(Mutex<BTreeMap<u64, Place>>),
}

impl Elements {
    pub(super) fn region(layout: Layout) -> Self {
        Self::Region { layout, written: Mutex::default() }
    }

    pub(super) fn chunks() -> Self {
        Self::Chunks(Mutex::default())
    }

    pub(super) fn strings() -> Self {
        Self::Strings(Mutex::default())
    }
}

/// The chunks of a variable.
#[derive(Debug)]
pub(super) struct Slot {
    keys: ObjectKeys,
    /// The number of chunks in each dimension.
    pub(super) counts: Vec<u64>,
    /// The bytes of a chunk without codecs.
    pub(super) chunk_bytes: u64,
    pub(super) elements: Elements,
}

impl Slot {
    pub(super) fn new(variable: &Variable, elements: Elements) -> Self {
        let lens = variable.shape.iter().zip(&variable.chunk_shape);
        let element = variable.dtype.size() as u64;
        Self {
            keys: ObjectKeys::new(variable),
            counts: lens.map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect(),
            chunk_bytes: ncz_model::product(variable.chunk_shape.iter().copied().chain([element]))
                .unwrap_or(u64::MAX),
            elements,
        }
    }

    /// The number of a chunk in the order of their coordinates, the last changing fastest.
    fn number(&self, index: &[u64]) -> Option<u64> {
        let in_grid =
            index.len() == self.counts.len() && index.iter().zip(&self.counts).all(|(at, count)| at < count);
        in_grid.then_some(())?;
        index
            .iter()
            .zip(&self.counts)
            .try_fold(0u64, |number, (at, count)| number.checked_mul(*count)?.checked_add(*at))
    }

    /// The coordinates of the chunk with this number.
    pub(super) fn index(&self, mut number: u64) -> Vec<u64> {
        let mut index = vec![0; self.counts.len()];
        for (at, count) in index.iter_mut().zip(&self.counts).rev() {
            *at = number % (*count).max(1);
            number /= (*count).max(1);
        }
        index
    }

    /// The number of chunks.
    pub(super) fn len(&self) -> u64 {
        self.counts.iter().product()
    }
}

/// A chunk that is found.
struct Found<'a> {
    slot: &'a Slot,
    number: u64,
    index: Vec<u64>,
}

/// The chunks of a new file, and the file.
#[derive(Debug)]
pub(crate) struct ChunkStore {
    file: NewFile,
    slots: Vec<Slot>,
    /// The positions of the slots by the prefixes of their keys.
    by_prefix: HashMap<String, usize>,
    /// Strings until the file is completed.
    scratch: OnceLock<File>,
    scratch_end: AtomicU64,
}

impl ChunkStore {
    pub(super) fn new(file: NewFile, slots: Vec<Slot>) -> Self {
        let prefixes = slots.iter().enumerate().map(|(at, slot)| (slot.keys.prefix().to_owned(), at));
        let by_prefix = prefixes.collect();
        Self { file, slots, by_prefix, scratch: OnceLock::new(), scratch_end: AtomicU64::new(0) }
    }

    pub(crate) fn file(&self) -> &NewFile {
        &self.file
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Reads bytes of the scratch file.
    pub(super) fn read_scratch(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(place.len).map_err(io::Error::other)?];
        self.scratch()?.read_exact_at(&mut bytes, place.offset)?;
        Ok(bytes)
    }

    fn scratch(&self) -> io::Result<&File> {
        if let Some(file) = self.scratch.get() {
            return Ok(file);
        }
        // Beside the target, where there is room for its data.
        let folder = self.file.path().parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::tempfile_in(folder.unwrap_or(std::path::Path::new(".")))?;
        // Another thread may be first; this file then disappears.
        Ok(self.scratch.get_or_init(|| file))
    }

    fn find(&self, key: Key<'_>) -> Option<Found<'_>> {
        let (prefix, _) = key.as_str().rsplit_once('/')?;
        let slot = self.slots.get(*self.by_prefix.get(prefix)?)?;
        let index = slot.keys.object_index(key.as_str())?;
        Some(Found { slot, number: slot.number(&index)?, index })
    }

    /// The stored bytes of an object; `None` if it does not exist.
    fn object(&self, key: Key<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(found) = self.find(key) else { return Ok(None) };
        let failed = |error| io_error("read", ObjectLocation::object(self, key), error);
        match &found.slot.elements {
            Elements::Region { layout, written } => {
                if !lock(written).contains(&found.number) {
                    return Ok(None);
                }
                let Some(range) = layout.range(&found.index) else { return Ok(None) };
                let place = Place::new(range.start, range.end - range.start);
                let mut bytes = self.read_place(place, key)?;
                // The rest of the chunk is beyond the end of the array.
                bytes.resize(len(found.slot.chunk_bytes, key, self)?, 0);
                Ok(Some(bytes))
            }
            Elements::Chunks(places) => {
                let place = lock(places).get(&found.number).copied();
                place.map(|place| self.read_place(place, key)).transpose()
            }
            Elements::Strings(places) => {
                let place = lock(places).get(&found.number).copied();
                place.map(|place| self.read_scratch(place)).transpose().map_err(failed)
            }
        }
    }

    fn read_place(&self, place: Place, key: Key<'_>) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; len(place.len, key, self)?];
        let read = self.file.read_at(&mut bytes, place.offset)?;
        if read < bytes.len() {
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(io_error("read", ObjectLocation::object(self, key), error));
        }
        Ok(bytes)
    }
}

/// A length in memory.
fn len(len: u64, key: Key<'_>, store: &ChunkStore) -> Result<usize, StoreError> {
    usize::try_from(len)
        .map_err(|error| io_error("read", ObjectLocation::object(store, key), io::Error::other(error)))
}

fn io_error(action: &'static str, at: ObjectLocation, source: io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::NoSpace { at, source },
        _ => StoreError::Io { action, at, source },
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The chunk index of a variable of a new file.
#[derive(Debug)]
pub(super) struct NewChunks {
    store: Arc<ChunkStore>,
    /// The position of the variable among the slots.
    number: usize,
}

impl NewChunks {
    pub(super) fn new(store: &Arc<ChunkStore>, number: usize) -> Self {
        Self { store: Arc::clone(store), number }
    }

    fn slot(&self) -> Option<&Slot> {
        self.store.slots.get(self.number)
    }

    /// The stored chunks, if filters apply to them.
    fn places(&self) -> Option<&Mutex<BTreeMap<u64, Place>>> {
        match &self.slot()?.elements {
            Elements::Chunks(places) => Some(places),
            Elements::Region { .. } | Elements::Strings(_) => None,
        }
    }
}

impl ChunkIndex for NewChunks {
    fn locate(&self, chunk: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        let Some(slot) = self.slot() else { return Err(ChunkError::NotAnObject) };
        slot.keys.locate(chunk, location)?;
        if let (Some(places), Some(number)) = (self.places(), slot.number(chunk)) {
            location.filter_mask = lock(places).get(&number).map_or(0, |place| place.filter_mask);
        }
        Ok(())
    }

    fn object_index(&self, key: &str) -> Option<Vec<u64>> {
        self.slot()?.keys.object_index(key)
    }

    fn prefix(&self) -> &str {
        self.slot().map_or("", |slot| slot.keys.prefix())
    }

    fn note_skipped(&self, chunk: &[u64], filter_mask: u32) -> bool {
        let (Some(places), Some(slot)) = (self.places(), self.slot()) else { return false };
        let mut places = lock(places);
        let place = slot.number(chunk).and_then(|number| places.get_mut(&number));
        place.map(|place| place.filter_mask = filter_mask).is_some()
    }

    fn notes_skipped(&self) -> bool {
        self.places().is_some()
    }
}

impl fmt::Display for ChunkStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.path().display())
    }
}

impl Store for ChunkStore {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.writable = true;
        capabilities.ranges = true;
        capabilities.atomic_publish = true;
        capabilities.deferred_writes = true;
        capabilities.local = true;
        capabilities
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        out.clear();
        let at = || ObjectLocation::object(self, key);
        let object = if key.as_str() == FILE { None } else { self.object(key)? };
        let object_len = match &object {
            Some(bytes) => bytes.len() as u64,
            None if key.as_str() == FILE => self.file.len()?,
            None => return Ok(false),
        };
        let Some(range) = range.resolve(object_len) else {
            return Err(StoreError::OutOfRange { at: at(), object_len, range: range.to_string() });
        };
        let want = range.end - range.start;
        if want > max_len {
            return Err(StoreError::TooLarge { at: at(), len: want, limit: max_len });
        }
        match object {
            Some(bytes) => {
                out.extend_from_slice(
                    bytes.get(range.start as usize..range.end as usize).unwrap_or_default(),
                );
            }
            None => {
                out.resize(len(want, key, self)?, 0);
                let read = self.file.read_at(out, range.start)?;
                out.truncate(read);
            }
        }
        Ok(true)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        if key.as_str() == FILE {
            let filled = self.file.read_at(out, offset)?;
            return Ok(Some(ReadInto { filled, object_len: self.file.len()? }));
        }
        let Some(object) = self.object(key)? else { return Ok(None) };
        let rest = usize::try_from(offset).ok().and_then(|offset| object.get(offset..)).unwrap_or_default();
        let filled = rest.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..filled), rest.get(..filled)) {
            to.copy_from_slice(from);
        }
        Ok(Some(ReadInto { filled, object_len: object.len() as u64 }))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        if key.as_str() == FILE {
            return self.file.len().map(Some);
        }
        let Some(found) = self.find(key) else { return Ok(None) };
        Ok(match &found.slot.elements {
            Elements::Region { written, .. } => {
                lock(written).contains(&found.number).then_some(found.slot.chunk_bytes)
            }
            Elements::Chunks(places) | Elements::Strings(places) => {
                lock(places).get(&found.number).map(|place| place.len)
            }
        })
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], _: WriteMode) -> Result<(), StoreError> {
        let at = || ObjectLocation::object(self, key);
        let failed = |error| io_error("write", at(), error);
        let found = self.find(key).ok_or_else(|| failed(io::Error::other("no variable has this chunk")))?;
        let len = bytes.len() as u64;
        match &found.slot.elements {
            Elements::Region { layout, written } => {
                let range = layout.range(&found.index);
                let part = range
                    .as_ref()
                    .and_then(|range| bytes.get(..usize::try_from(range.end - range.start).ok()?));
                let (Some(range), Some(part)) = (range, part) else {
                    return Err(failed(io::Error::other("a chunk does not have its length")));
                };
                self.file.write_at(part, range.start)?;
                lock(written).insert(found.number);
            }
            Elements::Chunks(places) => {
                let old = lock(places).get(&found.number).copied().filter(|old| old.len >= len);
                let offset = old.map_or_else(|| self.file.reserve(len), |old| old.offset);
                self.file.write_at(bytes, offset)?;
                lock(places).insert(found.number, Place::new(offset, len));
            }
            Elements::Strings(places) => {
                let offset = self.scratch_end.fetch_add(len, Ordering::Relaxed);
                self.scratch().and_then(|file| file.write_all_at(bytes, offset)).map_err(failed)?;
                lock(places).insert(found.number, Place::new(offset, len));
            }
        }
        Ok(())
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        let Some(found) = self.find(key) else { return Ok(false) };
        Ok(match &found.slot.elements {
            Elements::Region { written, .. } => lock(written).remove(&found.number),
            Elements::Chunks(places) | Elements::Strings(places) => {
                lock(places).remove(&found.number).is_some()
            }
        })
    }

    fn list(&self, _: Prefix<'_>, _: Depth, _: usize) -> Result<Listing, StoreError> {
        Ok(Listing { entries: Vec::new(), skipped: Vec::new() })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
