//! Stored datasets as documents in memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ncz_model::{Hierarchy, SourceError, Value, Variable};
use ncz_zarr::metadata::{Documents, ReadOptions, read};

/// A store in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<String, Vec<u8>>);

impl Documents for Memory {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        self.0.document(key)
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        self.0.children(prefix)
    }
}

impl Memory {
    /// A store of these documents.
    pub(crate) fn of<T: AsRef<str>>(documents: &[(&str, T)]) -> Self {
        Self(
            documents
                .iter()
                .map(|(key, text)| ((*key).to_owned(), text.as_ref().as_bytes().to_vec()))
                .collect(),
        )
    }

    /// A fixture's store; the name is the path without `.zip`.
    pub(crate) fn fixture(name: &str) -> Self {
        let file = File::open(folder().join(format!("{name}.zip"))).unwrap();
        let mut archive = zip::ZipArchive::new(file).unwrap();
        let mut store = Self::default();
        for at in 0..archive.len() {
            let mut entry = archive.by_index(at).unwrap();
            if entry.is_file() {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                store.0.insert(entry.name().unwrap().trim_start_matches("./").to_owned(), bytes);
            }
        }
        store.without_folder()
    }

    /// A fixture that is a folder.
    pub(crate) fn folder(name: &str) -> Self {
        let root = folder().join(name);
        let mut store = Self::default();
        let mut waiting = vec![root.clone()];
        while let Some(path) = waiting.pop() {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    let key = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                    store.0.insert(key, fs::read(&path).unwrap());
                }
            }
        }
        store
    }

    /// netcdf-c puts everything in its zip files into one folder.
    fn without_folder(self) -> Self {
        if self.0.contains_key(".zgroup")
            || self.0.contains_key(".zarray")
            || self.0.contains_key("zarr.json")
        {
            return self;
        }
        Self(
            self.0
                .into_iter()
                .map(|(key, bytes)| (key.split_once('/').unwrap().1.to_owned(), bytes))
                .collect(),
        )
    }

    pub(crate) fn set(&mut self, key: &str, text: &str) {
        self.0.insert(key.to_owned(), text.as_bytes().to_vec());
    }

    pub(crate) fn text(&self, key: &str) -> String {
        String::from_utf8(self.0[key].clone()).unwrap()
    }

    pub(crate) fn read(&self) -> Hierarchy {
        read(self, &ReadOptions::default()).unwrap()
    }

    /// All values of a variable without filters, in row-major order; missing chunks are fill.
    pub(crate) fn values(&self, hierarchy: &Hierarchy, variable: &Variable) -> Value {
        let size = variable.dtype.size();
        let shape = hierarchy.shape_of(variable);
        let count: u64 = shape.iter().product();
        let mut bytes = Vec::new();
        for flat in 0..count {
            let mut rest = flat;
            let mut index = vec![0; shape.len()];
            for (at, &len) in index.iter_mut().zip(&shape).rev() {
                *at = rest % len;
                rest /= len;
            }
            let chunk: Vec<String> =
                index.iter().zip(&variable.chunk_shape).map(|(at, len)| (at / len).to_string()).collect();
            let chunk = if chunk.is_empty() { "0".to_owned() } else { chunk.join(".") };
            match self.0.get(&variable.document_key(&chunk)) {
                None => bytes.extend(variable.fill_bytes()),
                Some(chunk) => {
                    assert!(variable.filters.is_empty(), "{} is filtered", variable.path);
                    let inner = index
                        .iter()
                        .zip(&variable.chunk_shape)
                        .fold(0, |sum, (at, len)| sum * len + at % len);
                    let start = usize::try_from(inner).unwrap() * size;
                    bytes.extend_from_slice(&chunk[start..start + size]);
                }
            }
        }
        Value::from_stored_bytes(variable.nc_type.unwrap(), &variable.dtype, &bytes).unwrap()
    }
}

/// The root of the fixtures.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// The names (path without `.zip`) of the stores in a folder of the fixtures.
pub(crate) fn names(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(self::folder().join(folder))
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().strip_suffix(".zip").map(str::to_owned)
        })
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

/// A text file of the fixtures.
pub(crate) fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}
