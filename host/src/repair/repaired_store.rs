//! A store as it would be if it were repaired.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ncz_store::{
    Capabilities, Depth, DirectoryId, Key, Leftover, Listing, ObjectLocation, Prefix, ReadInto, ReadRange,
    Store, StoreError, WriteMode,
};

/// A store with some objects replaced and some cut, and without a journal. Nothing can be written to it.
#[derive(Debug)]
pub(super) struct RepairedStore {
    inner: Arc<dyn Store>,
    replaced: BTreeMap<String, Vec<u8>>,
    cut: BTreeMap<String, u64>,
}

impl RepairedStore {
    pub(super) fn new(
        inner: Arc<dyn Store>,
        replaced: BTreeMap<String, Vec<u8>>,
        cut: BTreeMap<String, u64>,
    ) -> Self {
        Self { inner, replaced, cut }
    }

    fn refused(&self, key: Option<Key<'_>>) -> StoreError {
        let at = key.map_or_else(|| ObjectLocation::store(self), |key| ObjectLocation::object(self, key));
        StoreError::ReadOnly { at }
    }
}

impl fmt::Display for RepairedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Store for RepairedStore {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        capabilities.writable = false;
        capabilities
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
            return Ok(false);
        }
        let Some(len) = self
            .replaced
            .get(key.as_str())
            .map(|bytes| bytes.len() as u64)
            .or(self.cut.get(key.as_str()).copied())
        else {
            return self.inner.read(key, range, max_len, out);
        };
        out.clear();
        let Some(wanted) = range.resolve(len) else {
            let at = ObjectLocation::object(self, key);
            return Err(StoreError::OutOfRange { at, object_len: len, range: range.to_string() });
        };
        let count = wanted.end - wanted.start;
        if count > max_len {
            return Err(StoreError::TooLarge {
                at: ObjectLocation::object(self, key),
                len: count,
                limit: max_len,
            });
        }
        match self.replaced.get(key.as_str()) {
            Some(bytes) => {
                // Both ends are inside of bytes in memory.
                out.extend_from_slice(
                    bytes.get(wanted.start as usize..wanted.end as usize).unwrap_or_default(),
                );
                Ok(true)
            }
            None => {
                self.inner.read(key, ReadRange::Bounded { offset: wanted.start, len: count }, max_len, out)
            }
        }
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        if let Some(bytes) = self.replaced.get(key.as_str()) {
            let rest =
                usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
            let filled = rest.len().min(out.len());
            out[..filled].copy_from_slice(&rest[..filled]);
            return Ok(Some(ReadInto { filled, object_len: bytes.len() as u64 }));
        }
        let Some(&len) = self.cut.get(key.as_str()) else { return self.inner.read_into(key, offset, out) };
        let most = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let read = self.inner.read_into(key, offset, &mut out[..most])?;
        Ok(read.map(|read| ReadInto { object_len: len.min(read.object_len), ..read }))
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let known = self.replaced.get(key.as_str()).map(|bytes| bytes.len() as u64);
        match known.or(self.cut.get(key.as_str()).copied()) {
            Some(len) => self.read_into(key, len.saturating_sub(out.len() as u64), out),
            None => self.inner.read_end_into(key, out),
        }
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        match (self.replaced.get(key.as_str()), self.cut.get(key.as_str())) {
            (Some(bytes), _) => Ok(Some(bytes.len() as u64)),
            (None, Some(&len)) => Ok(Some(len)),
            (None, None) => self.inner.len(key),
        }
    }

    fn write(&self, key: Key<'_>, _: &[u8], _: WriteMode) -> Result<(), StoreError> {
        Err(self.refused(Some(key)))
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        Err(self.refused(Some(key)))
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.inner.list(prefix, depth, max_entries)
    }

    fn leftovers(&self) -> Vec<Leftover> {
        self.inner.leftovers()
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        self.inner.directory_id(prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
