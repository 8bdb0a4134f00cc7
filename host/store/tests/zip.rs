//! Archives of other programs, our archives in other programs, damaged archives, interrupted work.

#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

#[path = "zip/damage.rs"]
mod damage; // truncated, altered and random archives
#[path = "zip/interrupted.rs"]
mod interrupted; // failing operations, killed processes
#[path = "zip/model.rs"]
mod model; // any sequence of changes, read by the crate zip
#[path = "zip/peers.rs"]
mod peers; // netcdf-c, Python's zipfile, zarr-python

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use ncz_store::{Access, Depth, EntryKind, Key, Prefix, Store, StoreExt, ZipLayout, ZipStore};

type Objects = BTreeMap<String, Vec<u8>>;

fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}

fn open(path: &Path, access: Access) -> ZipStore {
    ZipStore::open(path, access, ZipLayout::Automatic).unwrap()
}

/// Everything that a store holds.
fn objects(store: &dyn Store) -> Objects {
    let listing = store.list(Prefix::ROOT, Depth::All, 200_000).unwrap();
    let objects = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object);
    let read = |key: &ncz_store::KeyBuf| store.read_vec(key.as_key(), 1 << 20).unwrap().unwrap();
    objects.map(|entry| (entry.key.to_string(), read(&entry.key))).collect()
}

/// Everything that an archive holds, by the crate zip; without directories.
fn entries(path: &Path) -> Objects {
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut found = BTreeMap::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        if entry.is_dir() {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        assert!(found.insert(entry.name().unwrap().into_owned(), bytes).is_none());
    }
    found
}
