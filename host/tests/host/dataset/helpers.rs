//! What the modules share.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use ncz::model::{Array, Elements, Hierarchy, LossyGuard, Pool, Session, Slab};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::testing::Fault;
use ncz::store::{Access, Depth, EntryKind, FileStore, MemoryStore, Prefix, Store, StoreExt};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::takes_all;

/// The faults of a store with this many operations: each operation meets one of three kinds, another one with another
/// `turn`. With `NCZ_INTERRUPTED=all` it meets all.
pub(crate) fn faults_of(operations: u64, turn: usize) -> impl Iterator<Item = Fault> {
    let is_all = takes_all("NCZ_INTERRUPTED");
    (0..operations).flat_map(move |n| {
        let kinds = [Fault::From(n), Fault::Once(n), Fault::AfterDoing(n)].into_iter().enumerate();
        kinds.filter(move |(kind, _)| is_all || (n as usize + turn) % 3 == *kind).map(|(_, fault)| fault)
    })
}

pub(crate) fn session(threads: usize) -> Session {
    let registry = Registry::builder().no_plugins(true).build();
    let session = Session::new(Arc::new(registry), Pool::with_threads(threads).unwrap());
    Session { lossy_guard: LossyGuard::On, ..session }
}

pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new("test"))
}

pub(crate) fn open(store: Arc<dyn Store>, session: &Session) -> Dataset {
    Dataset::open(store, session.clone(), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}", explained(&error)))
}

pub(crate) fn open_file(path: &Path) -> Dataset {
    open(Arc::new(FileStore::open(path, Access::Read).unwrap()), &session(2))
}

/// Writes the metadata of `hierarchy` and opens it.
pub(crate) fn create(hierarchy: Hierarchy, session: &Session) -> Dataset {
    let mut dataset = Dataset::create(memory(), hierarchy, session.clone(), false).unwrap();
    dataset.flush().unwrap();
    dataset
}

pub(crate) fn spec(text: &str) -> ChainSpec {
    ChainSpec::parse(text).unwrap()
}

/// All values, in the machine's byte order.
pub(crate) fn values(array: &Array) -> Vec<u8> {
    let slab = Slab::whole(array.shape());
    let mut out = vec![0; slab.elements().unwrap() as usize * array.dtype().size()];
    array
        .read_bytes(&slab, Elements::Native, &mut out)
        .unwrap_or_else(|error| panic!("{}", explained(&error)));
    out
}

/// What a dataset shows of each variable.
#[derive(Debug, PartialEq)]
pub(crate) struct Content {
    shape: Vec<u64>,
    bytes: Vec<u8>,
    /// As text, in which NaN is equal to itself.
    attributes: String,
}

impl Content {
    pub(crate) fn bytes(&self) -> (&[u64], &[u8]) {
        (&self.shape, &self.bytes)
    }
}

/// What a dataset shows, by path.
pub(crate) fn contents(dataset: &Dataset) -> BTreeMap<String, Content> {
    assert_eq!(dataset.hierarchy().unreadable().count(), 0);
    let content = |variable: &ncz::model::Variable| {
        let array = dataset.array(&variable.path).unwrap_or_else(|error| panic!("{}", explained(&error)));
        let attributes: Vec<_> =
            variable.attributes.iter().map(|attribute| (&attribute.name, &attribute.value)).collect();
        let content = Content {
            shape: array.shape().to_vec(),
            bytes: values(&array),
            attributes: format!("{attributes:?}"),
        };
        (variable.path.clone(), content)
    };
    dataset.hierarchy().variables().map(content).collect()
}

/// All objects of a store that are chunks, or with `documents` all that are not.
pub(crate) fn objects(store: &dyn Store, documents: bool) -> BTreeMap<String, Vec<u8>> {
    let listing = store.list(Prefix::ROOT, Depth::All, 100_000).unwrap();
    let objects = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object);
    objects
        .map(|entry| entry.key.as_key())
        .filter(|key| key.name().starts_with('.') == documents)
        .map(|key| (key.to_string(), store.read_vec(key, 1 << 30).unwrap().unwrap()))
        .collect()
}

/// An error with its causes.
pub(crate) fn explained(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
