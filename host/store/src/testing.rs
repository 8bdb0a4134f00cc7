//! Stores that wrap others: [`Counting`] what is asked of them, [`Faulty`] on command, [`Remote`] as if far away.
//!
//! They are for tests of what is on a store: how many requests an operation costs, and what
//! is left when any one of them fails.
//!
//! ```
//! use ncz_store::testing::{Fault, Faulty};
//! use ncz_store::{Key, MemoryStore, Store, WriteMode};
//!
//! let store = Faulty::new(MemoryStore::new("test"), Fault::Once(1));
//! let key = Key::parse("a")?;
//! assert!(store.write(key, b"1", WriteMode::Replace).is_ok());
//! assert!(store.write(key, b"2", WriteMode::Replace).is_err());
//! assert!(store.write(key, b"3", WriteMode::Replace).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod remote;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::store::{Capabilities, Depth, DirectoryId, Listing, ReadInto, ReadRange, Stamp, Store, WriteMode};

pub use self::remote::Remote;

/// What was asked of a [`Counting`] store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Calls of `read`, `read_into` and `read_end_into`, also those that `read_many` is made of.
    pub reads: u64,
    /// The bytes that they gave.
    pub bytes_read: u64,
    /// Calls of `len` and `stamp`.
    pub lens: u64,
    /// Calls of `write`.
    pub writes: u64,
    /// The bytes that they were given.
    pub bytes_written: u64,
    /// Calls of `delete`.
    pub deletes: u64,
    /// Calls of `list`.
    pub lists: u64,
    /// Calls of `sync`.
    pub syncs: u64,
    /// Calls of `publish`.
    pub publishes: u64,
}

/// A store that counts what is asked of it.
#[derive(Debug)]
pub struct Counting<S> {
    inner: S,
    counts: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicU64,
    bytes_read: AtomicU64,
    lens: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    deletes: AtomicU64,
    lists: AtomicU64,
    syncs: AtomicU64,
    publishes: AtomicU64,
}

impl<S: Store> Counting<S> {
    /// Counts what is asked of `inner`, from zero.
    pub fn new(inner: S) -> Self {
        Self { inner, counts: Counters::default() }
    }

    /// What was asked so far.
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            reads: of(&self.counts.reads),
            bytes_read: of(&self.counts.bytes_read),
            lens: of(&self.counts.lens),
            writes: of(&self.counts.writes),
            bytes_written: of(&self.counts.bytes_written),
            deletes: of(&self.counts.deletes),
            lists: of(&self.counts.lists),
            syncs: of(&self.counts.syncs),
            publishes: of(&self.counts.publishes),
        }
    }

    /// The store that is asked.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: fmt::Display> fmt::Display for Counting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<S: Store> Store for Counting<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        add(&self.counts.reads, 1);
        let found = self.inner.read(key, range, max_len, out)?;
        add(&self.counts.bytes_read, out.len() as u64);
        Ok(found)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        add(&self.counts.reads, 1);
        let found = self.inner.read_into(key, offset, out)?;
        add(&self.counts.bytes_read, found.map_or(0, |found| found.filled as u64));
        Ok(found)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        add(&self.counts.reads, 1);
        let found = self.inner.read_end_into(key, out)?;
        add(&self.counts.bytes_read, found.map_or(0, |found| found.filled as u64));
        Ok(found)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        add(&self.counts.lens, 1);
        self.inner.len(key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        add(&self.counts.lens, 1);
        self.inner.stamp(key)
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        add(&self.counts.writes, 1);
        add(&self.counts.bytes_written, bytes.len() as u64);
        self.inner.write(key, bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        add(&self.counts.deletes, 1);
        self.inner.delete(key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        add(&self.counts.lists, 1);
        self.inner.list(prefix, depth, max_entries)
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        self.inner.directory_id(prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        add(&self.counts.syncs, 1);
        self.inner.sync()
    }

    fn publish(&self) -> Result<(), StoreError> {
        add(&self.counts.publishes, 1);
        self.inner.publish()
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// Which operations of a [`Faulty`] store fail. They are counted from 0, all kinds together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None; to count the operations.
    Never,
    /// The n-th is not done and fails; later ones succeed.
    Once(u64),
    /// The n-th and all later ones are not done and fail: the place is gone, the process dead.
    From(u64),
    /// The n-th is done, yet reported as failed: the answer was lost.
    AfterDoing(u64),
}

/// A store of which chosen operations fail, with [`StoreError::Io`].
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    fault: Fault,
    operations: AtomicU64,
}

impl<S: Store> Faulty<S> {
    /// Lets operations of `inner` fail.
    pub fn new(inner: S, fault: Fault) -> Self {
        Self { inner, fault, operations: AtomicU64::new(0) }
    }

    /// How many operations were asked for so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// The store that is asked.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn perform<T>(&self, operation: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Once(n) if number == n => Err(self.injected()),
            Fault::From(n) if number >= n => Err(self.injected()),
            Fault::AfterDoing(n) if number == n => operation().and_then(|_| Err(self.injected())),
            _ => operation(),
        }
    }

    fn injected(&self) -> StoreError {
        StoreError::Io {
            action: "reach",
            at: ObjectLocation::store(&self.inner),
            source: io::Error::other("fault injected by a test"),
        }
    }
}

impl<S: fmt::Display> fmt::Display for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<S: Store> Store for Faulty<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let found = self.perform(|| self.inner.read(key, range, max_len, out));
        if found.is_err() {
            out.clear();
        }
        found
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.perform(|| self.inner.read_into(key, offset, out))
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.perform(|| self.inner.read_end_into(key, out))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.perform(|| self.inner.len(key))
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.perform(|| self.inner.stamp(key))
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        self.perform(|| self.inner.write(key, bytes, mode))
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.perform(|| self.inner.delete(key))
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.perform(|| self.inner.list(prefix, depth, max_entries))
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        self.inner.directory_id(prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.perform(|| self.inner.sync())
    }

    fn publish(&self) -> Result<(), StoreError> {
        self.perform(|| self.inner.publish())
    }
}
