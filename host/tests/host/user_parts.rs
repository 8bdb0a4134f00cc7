//! Copies of values in heaps that do not fit into memory at once, as h5py reads them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::PathBuf;
use std::sync::Arc;

use ncz::copy::{CopyOptions, VariableSummary, copy};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{
    ChunkError, ChunkIndex, Container, DataError, Format, Hierarchy, NetcdfKind, Pool, Row, Session,
    UserArray, UserElements, Variable,
};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::store::Store;
use ncz::{Dataset, NewDataset};
use ncz_test_support::{Python, python};

/// The most bytes of stored elements that are decoded together: those of three rows.
const MOST: usize = 3 * 16;

/// A dataset whose memory is small.
#[derive(Debug)]
struct Small(Dataset);

#[derive(Debug)]
struct SmallElements(UserArray);

impl UserElements for SmallElements {
    fn decode(&self, stored: &[u8]) -> Result<Row, ChunkError> {
        if stored.len() > MOST {
            return Err(ChunkError::LongRows { most: MOST as u64 });
        }
        self.0.decode(stored).map_err(|error| ChunkError::Elements(Box::new(error)))
    }

    fn encode(&self, _: &Row) -> Result<Vec<u8>, ChunkError> {
        Err(ChunkError::NotAnObject)
    }
}

impl Container for Small {
    fn hierarchy(&self) -> &Hierarchy {
        self.0.hierarchy()
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.0.store()
    }

    fn session(&self) -> &Session {
        self.0.session()
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.0.chain(variable)
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        self.0.chunks(variable)
    }

    fn user_array(&self, path: &str) -> Result<UserArray, DataError> {
        Ok(UserArray::new(self.0.array(path)?, Arc::new(SmallElements(self.0.user_array(path)?))))
    }
}

struct Files {
    python: Python,
    folder: tempfile::TempDir,
}

impl Files {
    /// Makes `source.h5`, with a chunk of ten rows of 1000 numbers.
    fn new() -> Option<Self> {
        let files = Self { python: python().ok()?, folder: tempfile::tempdir().unwrap() };
        files.python(
            r#"
with h5py.File("source.h5", "w") as file:
    rows = file.create_dataset("v", (10,), h5py.vlen_dtype("<f8"), chunks=(10,))
    for at in range(10):
        rows[at] = np.full(1000, at)
"#,
        );
        Some(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn python(&self, code: &str) {
        let code = format!("import os, sys, h5py, numpy as np\nos.chdir(sys.argv[1])\n{code}");
        self.python.run_code(&code, &[self.folder.path()], &[]).unwrap();
    }

    fn copied(&self, source: &str, salvage: bool) -> VariableSummary {
        let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
        let location = Location::from(self.path(source).as_path());
        let dataset = DatasetUrl { location, mode: Default::default() }.open(session).unwrap();
        let new = NewDataset::Netcdf { path: self.path("copy.nc"), overwrite: true };
        let format = Some(Format::Netcdf(NetcdfKind::Netcdf4));
        let options = CopyOptions { format, salvage, verify: true, ..CopyOptions::default() };
        copy(&Small(dataset), new, &options, &()).unwrap().variables.remove(0)
    }
}

#[test]
fn rows_that_are_copied_in_parts_are_one_chunk_and_are_salvaged_too() {
    let Some(files) = Files::new() else { return };
    for salvage in [false, true] {
        let summary = files.copied("source.h5", salvage);
        assert_eq!((summary.chunks, summary.decoded, summary.after), (1, 160, 160), "{salvage}");
        assert!(summary.lost.is_empty(), "{:?}", summary.lost);
        files.python(
            r#"
with h5py.File("copy.nc") as file:
    assert [row.tolist() for row in file["v"][:]] == [[at] * 1000 for at in range(10)]
"#,
        );
    }
}

#[test]
fn a_chunk_with_a_row_that_cannot_be_read_is_fill_as_a_whole() {
    let Some(files) = Files::new() else { return };
    files.python(
        r#"
with h5py.File("source.h5") as file:
    at = file["v"].id.get_chunk_info(0).byte_offset + 7 * 16
data = bytearray(open("source.h5", "rb").read())
heap = int.from_bytes(data[at + 4:at + 12], "little")
assert data[heap:heap + 4] == b"GCOL"
data[heap:heap + 4] = b"XXXX"
open("damaged.h5", "wb").write(data)
"#,
    );
    let summary = files.copied("damaged.h5", true);
    assert_eq!(summary.lost.len(), 1);
    files.python(
        r#"
with h5py.File("copy.nc") as file:
    assert [row.tolist() for row in file["v"][:]] == [[]] * 10, file["v"][:]
"#,
    );
}
