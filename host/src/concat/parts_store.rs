//! The stores of several datasets as one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ncz_store::{
    Capabilities, Depth, Key, Listing, ObjectLocation, Prefix, ReadDone, ReadInto, ReadRange, ReadRequest,
    Stamp, Store, StoreError, WriteMode,
};

/// The stores of datasets, for reading: the key of an object is the number of its dataset, and its key there.
#[derive(Debug)]
pub(super) struct PartsStore {
    name: String,
    parts: Vec<Arc<dyn Store>>,
}

impl PartsStore {
    pub(super) fn new(name: String, parts: Vec<Arc<dyn Store>>) -> Self {
        Self { name, parts }
    }

    fn part<'k>(&self, key: Key<'k>) -> Result<(&Arc<dyn Store>, Key<'k>), StoreError> {
        let unknown = || StoreError::NoObject { at: ObjectLocation::object(self, key) };
        let (number, rest) = split(key.as_str()).ok_or_else(unknown)?;
        let store = self.parts.get(number).ok_or_else(unknown)?;
        Ok((store, Key::parse(rest)?))
    }

    fn unsupported(&self, operation: &'static str) -> StoreError {
        StoreError::Unsupported {
            location: self.to_string(),
            operation,
            remedy: "it is several datasets that are read as one; copy it to a new dataset".to_owned(),
        }
    }
}

/// Adds the number of a dataset to a key in its store.
pub(super) fn join(part: usize, key: &mut String) {
    key.insert_str(0, &format!("{part}/"));
}

/// The number of the dataset of a key, and the key in its store.
pub(super) fn split(key: &str) -> Option<(usize, &str)> {
    let (number, rest) = key.split_once('/')?;
    Some((number.parse().ok()?, rest))
}

impl fmt::Display for PartsStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Store for PartsStore {
    fn capabilities(&self) -> Capabilities {
        let all = || self.parts.iter().map(|store| store.capabilities());
        let mut capabilities = Capabilities::default();
        capabilities.ranges = all().all(|one| one.ranges);
        capabilities.local = all().all(|one| one.local);
        capabilities.in_flight = all().map(|one| one.in_flight).max().unwrap_or_default();
        capabilities
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (store, key) = self.part(key)?;
        store.read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let (store, key) = self.part(key)?;
        store.read_into(key, offset, out)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let (store, key) = self.part(key)?;
        store.read_end_into(key, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        let (store, key) = self.part(key)?;
        store.len(key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        let (store, key) = self.part(key)?;
        store.stamp(key)
    }

    /// Hands the requests for each store on together.
    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let mut of_parts: Vec<(Vec<usize>, Vec<ReadRequest<'_>>)> = Vec::new();
        of_parts.resize_with(self.parts.len(), Default::default);
        for (index, request) in requests.iter().enumerate() {
            let found = split(request.key.as_str()).and_then(|(number, rest)| {
                let key = Key::parse(rest).ok()?;
                of_parts.get_mut(number).map(|part| (part, key))
            });
            match found {
                Some(((numbers, requests), key)) => {
                    numbers.push(index);
                    requests.push(ReadRequest { key, ..*request });
                }
                None => {
                    let error = StoreError::NoObject { at: ObjectLocation::object(self, request.key) };
                    if done(index, Err(error)).is_break() {
                        return;
                    }
                }
            }
        }
        for (store, (numbers, requests)) in self.parts.iter().zip(&of_parts) {
            let stopped = AtomicBool::new(false);
            store.read_many(requests, &|number, answer| {
                let Some(index) = numbers.get(number) else { return ControlFlow::Continue(()) };
                let flow = done(*index, answer);
                stopped.fetch_or(flow.is_break(), Ordering::Relaxed);
                flow
            });
            if stopped.into_inner() {
                return;
            }
        }
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
