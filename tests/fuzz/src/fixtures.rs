//! The datasets of `tests/fixtures` in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ncz::store::{Access, Depth, EntryKind, FileStore, Prefix, Store, StoreExt as _, ZipLayout, ZipStore};
use ncz_test_support::fixtures;

/// The objects of a dataset by their keys.
pub type Objects = BTreeMap<String, Vec<u8>>;

/// Longest object that is read here.
const MOST: u64 = 16 << 20;

/// Every dataset below a folder of the fixtures, by its path there.
#[must_use]
pub fn datasets(below: &str) -> BTreeMap<String, Objects> {
    let mut found = BTreeMap::new();
    walk(&fixtures().join(below), &mut |path, store| {
        let name = path.strip_prefix(fixtures()).unwrap().to_str().unwrap().to_owned();
        found.insert(name, objects(store));
    });
    found
}

/// Every archive that holds a dataset, as it is.
#[must_use]
pub fn archives() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    walk(&fixtures(), &mut |path, _| {
        if path.is_file() {
            found.push(fs::read(path).unwrap());
        }
    });
    found
}

/// The content of a store.
#[must_use]
pub fn objects(store: &dyn Store) -> Objects {
    let entries = store.list(Prefix::ROOT, Depth::All, 100_000).unwrap().entries;
    let objects = entries.into_iter().filter(|entry| entry.kind == EntryKind::Object);
    objects
        .map(|entry| {
            let bytes = store.read_vec(entry.key.as_key(), MOST).unwrap().unwrap();
            (entry.key.as_str().to_owned(), bytes)
        })
        .collect()
}

fn walk(path: &Path, visit: &mut dyn FnMut(&Path, &dyn Store)) {
    if path.is_dir() {
        if ncz::location::MARKS.iter().any(|mark| path.join(mark).exists()) {
            return visit(path, &FileStore::open(path, Access::Read).unwrap());
        }
        let mut inside: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        inside.iter().for_each(|path| walk(path, visit));
    } else if path.extension().is_some_and(|ending| ending == "zip") {
        // One of several datasets is none.
        let Ok(store) = ZipStore::open(path, Access::Read, ZipLayout::Automatic) else { return };
        // The chunks of HDF5 are an archive, but no dataset.
        if ncz::location::is_dataset(&store).unwrap() {
            visit(path, &store);
        }
    }
}

/// The name of the document under a key: `v/.zarray` is a `.zarray`.
#[must_use]
pub fn document_name(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(_, name)| name)
}

/// The metadata documents of a dataset.
#[must_use]
pub fn documents(objects: &Objects) -> Objects {
    let is_document = |key: &str| {
        let name = document_name(key);
        name == "zarr.json" || name.starts_with(".z") || name.starts_with(".nc")
    };
    objects
        .iter()
        .filter(|(key, _)| is_document(key))
        .map(|(key, bytes)| (key.clone(), bytes.clone()))
        .collect()
}
