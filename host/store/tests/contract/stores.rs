//! The stores that the contract is held against.

use std::sync::Arc;

use ncz_store::testing::{Counting, Fault, Faulty};
use ncz_store::{
    Access, CreateOptions, Durability, FileStore, Key, KeyBuf, MemoryStore, Store, WriteMode, ZipLayout,
    ZipStore,
};
use tempfile::TempDir;

/// A store and what must live as long as it.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) _folder: Option<TempDir>,
}

/// How many sequences of operations are tried.
pub(crate) fn sequences() -> u32 {
    60
}

/// Every kind of store, empty.
pub(crate) fn stores() -> Vec<Fixture> {
    let mut all = vec![
        Fixture { name: "memory", store: Arc::new(MemoryStore::new("contract")), _folder: None },
        Fixture {
            name: "counting memory",
            store: Arc::new(Counting::new(MemoryStore::new("contract"))),
            _folder: None,
        },
        Fixture {
            name: "faultless memory",
            store: Arc::new(Faulty::new(MemoryStore::new("contract"), Fault::Never)),
            _folder: None,
        },
    ];
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path(), Access::ReadWrite).unwrap();
    all.push(Fixture { name: "file", store: Arc::new(store), _folder: Some(folder) });

    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::create(folder.path().join("new.zarr"), CreateOptions::new()).unwrap();
    all.push(Fixture { name: "staged file", store: Arc::new(store), _folder: Some(folder) });

    let folder = tempfile::tempdir().unwrap();
    let options = CreateOptions::new().durability(Durability::Process);
    let store = FileStore::create(folder.path().join("new.zarr"), options).unwrap();
    store.publish().unwrap();
    all.push(Fixture { name: "published file", store: Arc::new(store), _folder: Some(folder) });

    let folder = tempfile::tempdir().unwrap();
    let store =
        ZipStore::create(folder.path().join("new.zip"), CreateOptions::new(), ZipLayout::Flat).unwrap();
    all.push(Fixture { name: "new zip", store: Arc::new(store), _folder: Some(folder) });

    let (folder, store) = updated_zip(ZipLayout::Flat);
    all.push(Fixture { name: "updated zip", store: Arc::new(store), _folder: Some(folder) });

    let (folder, store) = updated_zip(ZipLayout::Prefix(KeyBuf::parse("data").unwrap()));
    all.push(Fixture { name: "updated zip with a prefix", store: Arc::new(store), _folder: Some(folder) });
    all
}

/// An archive of one object, opened again, and the object deleted.
fn updated_zip(layout: ZipLayout) -> (TempDir, ZipStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let store = ZipStore::create(&path, CreateOptions::new(), layout.clone()).unwrap();
    store.write(key("was/here"), b"1", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    let store =
        ZipStore::open(&path, Access::ReadWrite, layout).unwrap().with_durability(Durability::Process);
    assert!(store.delete(key("was/here")).unwrap());
    (folder, store)
}

/// Holds one claim against every store; a failure says which.
pub(crate) fn each(claim: impl Fn(&dyn Store)) {
    for fixture in stores() {
        eprintln!("against {}", fixture.name);
        claim(&*fixture.store);
    }
}

pub(crate) fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}
