//! The source of a dataset's metadata: the documents of a store.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ncz_model::{Pool, SourceError, Tasks, limits};
use ncz_store::{Depth, EntryKind, Key, Prefix, Store, StoreError, StoreExt, Visited};

use crate::metadata::document;
use crate::metadata::{Documents, EachDocument};

/// The documents of a store.
pub(super) struct StoreDocuments<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) pool: &'a Pool,
    pub(super) visited: Mutex<Visited>,
}

impl Documents for StoreDocuments<'_> {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(self.store.read_vec(Key::parse(key)?, document::max_bytes(key) as u64)?)
    }

    fn documents(&self, keys: &[&str], each: &mut EachDocument<'_>) {
        let (mut places, mut requests) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (at, key) in keys.iter().enumerate() {
            match Key::parse(key) {
                Ok(parsed) => {
                    places.push(at);
                    requests.push(document::request(parsed));
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

    /// The folders below a prefix: an object has no children, and is not an array or group.
    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        if !self.store.capabilities().list {
            return Err(Box::new(StoreError::Unsupported {
                location: self.store.to_string(),
                operation: "list its objects",
                remedy: "name the array to open, or open the dataset at another location".to_owned(),
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

/// Returns the result of `ask` for each item, in their order. On a remote store, as many requests are in flight as the
/// store wants; on a local store they run one after the other. `bytes` is the memory that each holds while it waits.
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
    let stores = [store];
    let tasks = Tasks::new(items.len() as u64).on(&stores, bytes);
    let answered = pool.for_each(&tasks, Vec::new, |answers, number| {
        answers.push((number, ask(&items[number as usize])));
        Ok::<(), Infallible>(())
    });
    let Ok(answered) = answered;
    let mut answers: Vec<(u64, R)> = answered.into_iter().flatten().collect();
    answers.sort_unstable_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
