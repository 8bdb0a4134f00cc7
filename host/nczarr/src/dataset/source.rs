//! Where the metadata of a dataset come from: the documents of a store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ncz_store::{
    Depth, EntryKind, Key, Prefix, ReadRange, ReadRequest, Store, StoreError, StoreExt, Visited,
};

use crate::error::SourceError;
use crate::limits;
use crate::metadata::{Documents, EachDocument};
use crate::pool::Pool;

/// The documents of a store.
pub(super) struct StoreDocuments<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) pool: &'a Pool,
    pub(super) visited: Mutex<Visited>,
}

impl Documents for StoreDocuments<'_> {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.store.read_vec(Key::parse(key)?, limits::document_bytes(key) as u64)?)
    }

    fn documents(&self, keys: &[&str], each: &mut EachDocument<'_>) {
        let (mut places, mut requests) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (at, key) in keys.iter().enumerate() {
            match Key::parse(key) {
                Ok(parsed) => {
                    places.push(at);
                    requests.push(whole_document(parsed));
                }
                Err(error) => {
                    if each(at, Err(error.into())).is_break() {
                        return;
                    }
                }
            }
        }
        let each = Mutex::new(each);
        self.store.read_many(&requests, &|index, answer| {
            let mut each = each.lock().unwrap_or_else(PoisonError::into_inner);
            match places.get(index) {
                Some(&at) => each(at, answer.map_err(SourceError::from)),
                None => ControlFlow::Continue(()),
            }
        });
    }

    /// The folders below a prefix: an object has nothing below it, and is no array or group.
    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        if !self.store.capabilities().list {
            return Err(Box::new(StoreError::Unsupported {
                place: self.store.to_string(),
                what: "list what it has",
                remedy: "name what is wanted, or open it elsewhere".to_owned(),
            }));
        }
        let prefix = if prefix.is_empty() { Prefix::ROOT } else { Prefix::parse(prefix)? };
        let listing = self.store.list(prefix, Depth::One, limits::CHILDREN)?;
        let folders = listing.entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
        Ok(folders.map(|entry| entry.key.as_key().name().to_owned()).collect())
    }

    fn enter(&self, prefix: &str) -> Result<(), SourceError> {
        let mut visited = self.visited.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(visited.enter(self.store, Prefix::parse(prefix)?)?)
    }

    fn all_children(&self, prefixes: &[&str]) -> Vec<Result<Vec<String>, SourceError>> {
        together(self.store, self.pool, prefixes, 0, |prefix| self.children(prefix))
    }
}

/// The request for a metadata document.
pub(crate) fn whole_document(key: Key<'_>) -> ReadRequest<'_> {
    ReadRequest { key, range: ReadRange::All, max_len: limits::document_bytes(key.as_str()) as u64 }
}

/// What `ask` answers to each item, in their order. Where a request is a round trip, as many wait at the same time as
/// the store wants; elsewhere it is one after the other. `bytes` is what each holds while it waits.
pub(super) fn together<T: Sync, R: Send>(
    store: &dyn Store,
    pool: &Pool,
    items: &[T],
    bytes: u64,
    ask: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if items.len() < 2 || store.capabilities().in_flight < 2 {
        return items.iter().map(ask).collect();
    }
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    pool.run_on(&[store], items.len() as u64, bytes, &|| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let answer = ask(item);
            answers.lock().unwrap_or_else(PoisonError::into_inner).insert(at, answer);
        }
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}
