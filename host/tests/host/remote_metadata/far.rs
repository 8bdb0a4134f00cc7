//! Shared helpers: remote datasets, and the requests to them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use ncz::model::{Attribute, DataError, Format, Hierarchy, NcType, Pool, Session, Value, VariableBuilder};
use ncz::registry::Registry;
use ncz::store::testing::{Counting, Remote};
use ncz::store::{
    Capabilities, Depth, EntryKind, Key, Listing, MemoryStore, Prefix, ReadInto, ReadRange, Store,
    StoreError, StoreExt, WriteMode,
};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};

pub(crate) const PREFER: ReadOptions = options(ConsolidatedPolicy::Prefer);

pub(crate) const fn options(consolidated: ConsolidatedPolicy) -> ReadOptions {
    ReadOptions { consolidated, version: None, pure: false, nczarr3: false, root_array_name: None }
}

pub(crate) fn session() -> Session {
    let registry = Registry::builder().no_plugins(true).build();
    Session::new(Arc::new(registry), Pool::with_threads(2).unwrap())
}

/// Objects by their keys.
pub(crate) type Objects = BTreeMap<String, Vec<u8>>;

/// A remote store, and all requests to it.
pub(crate) type Far = Remote<Log<Counting<MemoryStore>>>;

pub(crate) fn far(objects: &Objects) -> Far {
    let memory = MemoryStore::new("test");
    for (key, bytes) in objects {
        memory.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
    }
    Remote::new(Log::of(Counting::new(memory)))
}

/// What opening costs.
#[derive(Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) gets: usize,
    pub(crate) lists: u64,
    pub(crate) round_trips: u64,
}

/// Opens a dataset, and returns the requests: no length is requested, and no object twice.
pub(crate) fn open(store: Far, options: &ReadOptions) -> (Result<Dataset, DataError>, Cost) {
    let store = Arc::new(store);
    let opened = Dataset::open(store.clone(), session(), options);
    let counts = store.inner().inner.counts();
    let mut keys = store.inner().reads();
    let gets = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), gets, "an object is requested twice");
    assert_eq!(counts.lens, 0);
    (opened, Cost { gets, lists: counts.lists, round_trips: store.round_trips() })
}

/// Ten variables in the root, in a group, and in a group of that.
pub(crate) fn thirty(format: Format) -> Hierarchy {
    many(format, 10)
}

pub(crate) fn many(format: Format, each: usize) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "time", 0, true).unwrap();
    hierarchy.add_group("/", "g1").unwrap();
    hierarchy.add_group("/g1", "g2").unwrap();
    for group in ["/", "/g1", "/g1/g2"] {
        hierarchy
            .group_mut(group)
            .unwrap()
            .set_attribute(Attribute::new("title", Value::text(group)))
            .unwrap();
        for number in 0..each {
            let new =
                VariableBuilder::new(format!("v{number}"), NcType::Short).dimensions(["time"]).chunks([4]);
            hierarchy.add_variable(group, new.attribute(Attribute::new("units", "K"))).unwrap();
        }
    }
    hierarchy
}

/// The objects of a new dataset.
pub(crate) fn written(hierarchy: Hierarchy, consolidated: bool) -> Objects {
    let store = Arc::new(MemoryStore::new("new"));
    Dataset::create(store.clone(), hierarchy, session(), consolidated).unwrap().finish().unwrap();
    objects(&*store)
}

pub(crate) fn objects(store: &dyn Store) -> Objects {
    let listing = store.list(Prefix::ROOT, Depth::All, 100_000).unwrap();
    let objects = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object);
    let object = |key: Key<'_>| (key.to_string(), store.read_vec(key, 1 << 30).unwrap().unwrap());
    objects.map(|entry| object(entry.key.as_key())).collect()
}

/// Notes the keys that are read and written, in their order.
#[derive(Debug)]
pub(crate) struct Log<S> {
    pub(crate) inner: S,
    reads: Mutex<Vec<String>>,
    writes: Mutex<Vec<String>>,
}

impl<S: Store> Log<S> {
    pub(crate) fn of(inner: S) -> Self {
        Self { inner, reads: Mutex::default(), writes: Mutex::default() }
    }

    pub(crate) fn reads(&self) -> Vec<String> {
        self.reads.lock().unwrap().clone()
    }

    pub(crate) fn writes(&self) -> Vec<String> {
        self.writes.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.reads.lock().unwrap().clear();
        self.writes.lock().unwrap().clear();
    }
}

impl<S: fmt::Display> fmt::Display for Log<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<S: Store> Store for Log<S> {
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
        self.reads.lock().unwrap().push(key.to_string());
        self.inner.read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.reads.lock().unwrap().push(key.to_string());
        self.inner.read_into(key, offset, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.inner.len(key)
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        // The order is that in which they are there.
        let answer = self.inner.write(key, bytes, mode);
        self.writes.lock().unwrap().push(key.to_string());
        answer
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.inner.delete(key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.inner.list(prefix, depth, max_entries)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn publish(&self) -> Result<(), StoreError> {
        self.inner.publish()
    }
}

/// An error with its causes.
pub(crate) fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
