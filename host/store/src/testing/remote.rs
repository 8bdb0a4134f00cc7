//! A store that behaves as if it were far away.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, WriteMode,
};

/// A store that says it is far away, as S3 is, and counts round trips.
///
/// It wants many requests in flight, knows no conflicts of keys, and answers [`Store::read_many`] in another order than
/// it was asked, on the caller's thread. On demand it cannot list, denies keys, says "denied" of what does not exist,
/// and lets each request wait. Put [`Counting`](super::Counting) inside to see the requests themselves.
///
/// ```
/// use ncz_store::testing::{Counting, Remote};
/// use ncz_store::{Key, MemoryStore, Store};
///
/// let store = Remote::new(Counting::new(MemoryStore::new("test"))).without_listing();
/// assert!(!store.capabilities().local && !store.capabilities().list);
/// assert_eq!(store.len(Key::parse("a")?)?, None);
/// assert_eq!((store.round_trips(), store.inner().counts().lens), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Remote<S> {
    inner: S,
    lists: bool,
    hides: bool,
    denied: BTreeSet<String>,
    latency: Duration,
    in_flight: usize,
    round_trips: AtomicU64,
    waiting: AtomicUsize,
    most_waiting: AtomicUsize,
}

impl<S: Store> Remote<S> {
    /// Moves `inner` far away. 64 requests may wait at the same time.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            lists: true,
            hides: false,
            denied: BTreeSet::new(),
            latency: Duration::ZERO,
            in_flight: 64,
            round_trips: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            most_waiting: AtomicUsize::new(0),
        }
    }

    /// It cannot list, as HTTP servers.
    #[must_use]
    pub fn without_listing(self) -> Self {
        Self { lists: false, ..self }
    }

    /// It denies lists, and says "denied" of objects that do not exist too, as S3 does to those who may not list.
    #[must_use]
    pub fn hiding_what_is_missing(self) -> Self {
        Self { hides: true, ..self }
    }

    /// It denies to read this key.
    #[must_use]
    pub fn denying(mut self, key: impl Into<String>) -> Self {
        self.denied.insert(key.into());
        self
    }

    /// Each request waits so long.
    #[must_use]
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// So many requests are to wait at the same time.
    #[must_use]
    pub fn with_in_flight(self, in_flight: usize) -> Self {
        Self { in_flight, ..self }
    }

    /// How often somebody has waited: once for each request, once for as many requests of a
    /// [`read_many`](Store::read_many) as wait at the same time. Requests from several threads count one by one.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// The most requests that several threads have kept waiting at the same time.
    pub fn most_waiting(&self) -> usize {
        self.most_waiting.load(Ordering::Relaxed)
    }

    /// The store that is asked.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn wait(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_waiting.fetch_max(waiting, Ordering::Relaxed);
        if !self.latency.is_zero() {
            thread::sleep(self.latency);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn may_read(&self, key: Key<'_>) -> Result<(), StoreError> {
        match self.denied.contains(key.as_str()) {
            true => Err(denied(ObjectLocation::object(self, key))),
            false => Ok(()),
        }
    }

    fn may_know(&self, key: Key<'_>, found: bool) -> Result<(), StoreError> {
        match self.hides && !found {
            true => Err(denied(ObjectLocation::object(self, key))),
            false => Ok(()),
        }
    }

    fn answer(&self, request: &ReadRequest<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        out.clear();
        self.may_read(request.key)?;
        let found = self.inner.read(request.key, request.range, request.max_len, out)?;
        self.may_know(request.key, found)?;
        Ok(found)
    }
}

fn denied(at: ObjectLocation) -> StoreError {
    StoreError::Denied { at, reason: "403 AccessDenied, as a test wants it".to_owned() }
}

impl<S: fmt::Display> fmt::Display for Remote<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remote:{}", self.inner)
    }
}

impl<S: Store> Store for Remote<S> {
    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        Capabilities {
            list: inner.list && self.lists,
            local: false,
            key_conflicts: false,
            in_flight: self.in_flight,
            ..inner
        }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.wait();
        self.answer(&ReadRequest { key, range, max_len }, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.wait();
        self.may_read(key)?;
        let found = self.inner.read_into(key, offset, out)?;
        self.may_know(key, found.is_some())?;
        Ok(found)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.wait();
        self.may_read(key)?;
        let found = self.inner.read_end_into(key, out)?;
        self.may_know(key, found.is_some())?;
        Ok(found)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.wait();
        self.may_read(key)?;
        let found = self.inner.len(key)?;
        self.may_know(key, found.is_some())?;
        Ok(found)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.wait();
        self.may_read(key)?;
        let found = self.inner.stamp(key)?;
        self.may_know(key, found.is_some())?;
        Ok(found)
    }

    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let mut buffer = Vec::new();
        for (batch, together) in requests.chunks(self.in_flight.max(1)).enumerate() {
            self.wait();
            let first = batch * self.in_flight.max(1);
            for (at, request) in together.iter().enumerate().rev() {
                let answer = self.answer(request, &mut buffer);
                let answer = answer.map(|found| found.then_some(buffer.as_slice()));
                if done(first + at, answer).is_break() {
                    return;
                }
            }
        }
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        self.wait();
        self.inner.write(key, bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.wait();
        self.inner.delete(key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.wait();
        if !self.lists {
            return Err(StoreError::Unsupported {
                location: self.to_string(),
                operation: "list",
                remedy: "a test wants it so".to_owned(),
            });
        }
        if self.hides {
            return Err(denied(ObjectLocation::below(self, prefix)));
        }
        self.inner.list(prefix, depth, max_entries)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn publish(&self) -> Result<(), StoreError> {
        self.inner.publish()
    }
}
