//! A store whose keys are not listed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::StoreError;
use crate::key::{Key, Prefix};
use crate::parent_dir;
use crate::store::{
    Capabilities, Depth, Leftover, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store,
    WriteMode,
};

/// A read-only view of a store that does not list its keys.
///
/// It is the store of a dataset that is one object: the objects beside it are not part of the dataset.
#[derive(Debug)]
pub struct Unlisted {
    store: Arc<dyn Store>,
    file: Option<PathBuf>,
}

impl Unlisted {
    /// A view of this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, file: None }
    }

    /// A view of this store, in which the object is the file at this path, so that its
    /// [leftovers](Store::leftovers) are known.
    #[must_use]
    pub fn of_file(store: Arc<dyn Store>, path: impl Into<PathBuf>) -> Self {
        Self { store, file: Some(path.into()) }
    }

    fn unsupported(&self, operation: &'static str) -> StoreError {
        StoreError::Unsupported {
            location: self.to_string(),
            operation,
            remedy: "it is opened to read one file".to_owned(),
        }
    }
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Store for Unlisted {
    fn capabilities(&self) -> Capabilities {
        let Capabilities { ranges, local, in_flight, .. } = self.store.capabilities();
        Capabilities { ranges, local, in_flight, ..Capabilities::default() }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.store.read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.store.read_into(key, offset, out)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.store.read_end_into(key, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.store.len(key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.store.stamp(key)
    }

    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        self.store.read_many(requests, done);
    }

    fn write(&self, _: Key<'_>, _: &[u8], _: WriteMode) -> Result<(), StoreError> {
        Err(self.unsupported("be written"))
    }

    fn delete(&self, _: Key<'_>) -> Result<bool, StoreError> {
        Err(self.unsupported("be written"))
    }

    fn leftovers(&self) -> Vec<Leftover> {
        self.file.as_deref().map_or_else(Vec::new, parent_dir::leftovers_beside)
    }

    fn list(&self, _: Prefix<'_>, _: Depth, _: usize) -> Result<Listing, StoreError> {
        Err(self.unsupported("be listed"))
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
