//! A store whose keys are not listed.

use std::fmt;
use std::sync::Arc;

use crate::error::StoreError;
use crate::key::{Key, Prefix};
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, WriteMode,
};

/// A read-only view of a store that does not list its keys.
///
/// It is the store of a dataset that is one object: the objects beside it are not part of the dataset.
#[derive(Debug)]
pub struct Unlisted(Arc<dyn Store>);

impl Unlisted {
    /// A view of this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
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
        self.0.fmt(f)
    }
}

impl Store for Unlisted {
    fn capabilities(&self) -> Capabilities {
        let Capabilities { ranges, local, in_flight, .. } = self.0.capabilities();
        Capabilities { ranges, local, in_flight, ..Capabilities::default() }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.0.read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.0.read_into(key, offset, out)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.0.read_end_into(key, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.0.len(key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.0.stamp(key)
    }

    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        self.0.read_many(requests, done);
    }

    fn write(&self, _: Key<'_>, _: &[u8], _: WriteMode) -> Result<(), StoreError> {
        Err(self.unsupported("be written"))
    }

    fn delete(&self, _: Key<'_>) -> Result<bool, StoreError> {
        Err(self.unsupported("be written"))
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
