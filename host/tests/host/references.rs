//! References to netCDF files and Zarr datasets: what is written, and what ncz, zarr-python and xarray read of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::Path;
use std::sync::Arc;

use ncz::location::DatasetUrl;
use ncz::model::{
    ChunkError, ChunkIndex, ChunkLocation, Container, DataError, Elements, Extent, Format, Hierarchy, NcType,
    Pool, Session, Slab, Variable, VariableBuilder,
};
use ncz::references::{self, ReferenceError, ReferenceOptions, ReferenceSummary};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, FileStore, Key, MemoryStore, Store, WriteMode};
use ncz_test_support::python;

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn write(
    source: &dyn Container,
    url: &dyn Fn(&str) -> String,
    options: &ReferenceOptions,
    to: &Path,
) -> Result<ReferenceSummary, ReferenceError> {
    let mut json = Vec::new();
    let summary = references::write(source, url, options, &mut json, &())?;
    std::fs::write(to, json).unwrap();
    Ok(summary)
}

fn open(path: &Path) -> ncz::Dataset {
    ncz::open(path).unwrap()
}

fn read(dataset: &dyn Container, path: &str) -> Vec<u8> {
    let array = dataset.array(path).unwrap();
    let slab = Slab::whole(array.shape());
    let mut bytes = vec![0; slab.elements().unwrap() as usize * array.dtype().size()];
    array.read_bytes(&slab, Elements::Native, &mut bytes).unwrap();
    bytes
}

/// Both datasets have the same variables with the same elements.
fn assert_same(one: &dyn Container, other: &dyn Container) {
    let paths = |dataset: &dyn Container| {
        let mut paths: Vec<String> = dataset.hierarchy().variables().map(|v| v.path.clone()).collect();
        paths.sort();
        paths
    };
    assert_eq!(other.hierarchy().unreadable().count(), 0);
    assert_eq!(paths(one), paths(other));
    for path in paths(one) {
        assert!(read(one, &path) == read(other, &path), "{path}");
    }
}

#[test]
fn references_to_a_netcdf_file_are_read_by_ncz_zarr_python_and_xarray() {
    let Ok(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/references.py");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    python.run(&script, &[Path::new("write"), folder], &[]).unwrap();
    for number in 0..4 {
        let file = ncz::open(folder.join(format!("f{number}.nc"))).unwrap();
        let to = folder.join(format!("f{number}.json"));
        let url = |key: &str| format!("file://{}/{key}", folder.display());
        let summary = write(&file, &url, &ReferenceOptions::default(), &to).unwrap();
        // 50 records, `zeros`, three chunks of `large`, of which the last reaches into `also`, and `also` as a whole, since
        // too little follows it. `time`, `flags`, `names` and `scalar` are inline.
        if number < 3 {
            assert_eq!((summary.references, summary.inline), (50 + 1 + 3 + 1, 4), "{summary:?}");
        } else {
            // `large` has 13 x 6 chunks.
            assert!(summary.references > 78, "{summary:?}");
        }
        assert_eq!((summary.missing, summary.recoded), (0, 0));
        assert_same(&file, &open(&to));
        let relative = folder.join("relative.json");
        write(&file, &|key| key.to_owned(), &ReferenceOptions::default(), &relative).unwrap();
        assert_same(&file, &open(&relative));
    }
    python.run(&script, &[Path::new("read"), folder], &[]).unwrap();
}

#[test]
fn references_to_a_zarr_dataset_are_its_objects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zarr");
    let mut hierarchy = Hierarchy::new(Format::Zarr3);
    hierarchy.add_group("/", "g").unwrap();
    hierarchy.add_dimension("/", "x", 1000, false).unwrap();
    hierarchy
        .add_variable("/g", VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([300]))
        .unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("none", NcType::Int).dimensions(["x"]).chunks([300]))
        .unwrap();
    let dataset = ncz::create(&path, hierarchy).unwrap();
    dataset.array("/g/v").unwrap().write(.., &(0..1000).collect::<Vec<i32>>()).unwrap();
    dataset.finish().unwrap();
    let dataset = ncz::open(&path).unwrap();
    let to = folder.path().join("refs.json");
    let summary = write(&dataset, &|key| format!("a.zarr/{key}"), &ReferenceOptions::default(), &to).unwrap();
    assert_eq!((summary.references, summary.missing), (4, 4));
    assert_same(&dataset, &open(&to));
}

/// A file with three chunks of one variable: filtered, not filtered, and missing.
#[derive(Debug)]
struct Masked {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    chunks: [ChunkLocation; 3],
}

#[derive(Debug)]
struct Index([ChunkLocation; 3]);

impl ChunkIndex for Index {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.0[object[0] as usize].clone_into(location);
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        ""
    }

    fn has_neighbours(&self) -> bool {
        true
    }
}

impl Container for Masked {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.session.bind(
            variable,
            self.hierarchy.format,
            &variable.chain_spec(self.hierarchy.format).unwrap(),
        )
    }

    fn chunks(&self, _: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        Ok(Arc::new(Index(self.chunks.clone())))
    }
}

fn masked(folder: &Path) -> Masked {
    const CHUNK: u64 = 2000;
    let session = session();
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    hierarchy.add_dimension("/", "x", 3 * CHUNK, false).unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([CHUNK]))
        .unwrap();
    let spec = ChainSpec::from_json(
        Format::Zarr2.dialect(),
        &[
            serde_json::json!({"id": "shuffle", "elementsize": 4}),
            serde_json::json!({"id": "zlib", "level": 1}),
        ],
    );
    let variable = hierarchy.variable_mut("v").unwrap();
    let chain = session.define(variable, Format::Zarr2, &spec.unwrap()).unwrap();
    let numbers = |from: u32| {
        let numbers = (from..from + CHUNK as u32).map(|number| number.wrapping_mul(2_654_435_761));
        numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    let encoded = chain.encode(&mut chain.scratch(), &numbers(0)).unwrap().to_vec();
    let plain = numbers(7);
    std::fs::write(folder.join("file"), [b"head", &encoded[..], &plain[..]].concat()).unwrap();
    let at = 4 + encoded.len() as u64;
    let location = |extent, filter_mask| ChunkLocation { key: "file".to_owned(), extent, filter_mask };
    Masked {
        store: Arc::new(FileStore::open(folder, Access::Read).unwrap()),
        hierarchy,
        session,
        chunks: [
            location(Extent::Range(4..at), 0),
            location(Extent::Range(at..at + CHUNK * 4), 0b11),
            location(Extent::Missing, 0),
        ],
    }
}

#[test]
fn a_chunk_whose_filters_were_skipped_is_encoded_again_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = masked(folder.path());
    let to = folder.path().join("refs.json");
    let summary = write(&file, &|key| key.to_owned(), &ReferenceOptions::default(), &to).unwrap();
    assert_eq!((summary.references, summary.inline, summary.recoded, summary.missing), (1, 1, 1, 1));
    assert_same(&file, &open(&to));
    let options = ReferenceOptions { most_inline: 100, ..ReferenceOptions::default() };
    let error = write(&file, &|key| key.to_owned(), &options, &to).unwrap_err();
    assert!(matches!(&error, ReferenceError::Chunk { chunk, .. } if *chunk == [1]), "{error:?}");
    assert!(error.to_string().contains("filters were not applied"), "{error}");
}

#[test]
fn a_file_that_references_point_into_must_exist_and_be_long_enough() {
    let folder = tempfile::tempdir().unwrap();
    let file = masked(folder.path());
    let to = folder.path().join("refs.json");
    write(&file, &|key| key.to_owned(), &ReferenceOptions::default(), &to).unwrap();
    let array = open(&to).array("v").unwrap();
    std::fs::write(folder.path().join("file"), b"head").unwrap();
    let slab = Slab::new([0], [10]);
    assert!(array.read_bytes(&slab, Elements::Native, &mut [0; 40]).is_err());
    std::fs::remove_file(folder.path().join("file")).unwrap();
    assert!(array.read_bytes(&slab, Elements::Native, &mut [0; 40]).is_err(), "not fill");
}

#[test]
fn too_many_chunks_are_refused_before_anything_is_walked() {
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    hierarchy.add_dimension("/", "x", 1 << 40, false).unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("v", NcType::Double).dimensions(["x"]).chunks([100]))
        .unwrap();
    let store = Arc::new(MemoryStore::new("memory"));
    let dataset = ncz::zarr::Dataset::create(store, hierarchy, session(), false).unwrap();
    let error = references::write(
        &dataset,
        &|key| key.to_owned(),
        &ReferenceOptions::default(),
        &mut Vec::new(),
        &(),
    );
    assert!(matches!(error, Err(ReferenceError::TooMany { .. })), "{error:?}");
    dataset.discard();
}

#[test]
fn references_without_a_url_are_into_the_target_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("refs.json");
    let zarray = r#"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"|u1\",\"compressor\":null,\"filters\":null,\"order\":\"C\",\"fill_value\":0}"#;
    let json = format!(
        r#"{{"version": 1, "refs": {{".zgroup": {{"zarr_format": 2}}, "v/.zarray": "{zarray}", "v/0": [null, 2, 4]}}}}"#
    );
    std::fs::write(&path, json).unwrap();
    std::fs::write(folder.path().join("data"), [9, 9, 1, 2, 3, 4]).unwrap();
    let url = DatasetUrl::parse(path.to_str().unwrap()).unwrap();
    let dataset = references::open(&url, Some("data"), session()).unwrap();
    assert_eq!(read(&dataset, "v"), [1, 2, 3, 4]);
    let dataset = references::open(&url, None, session()).unwrap();
    assert!(dataset.array("v").unwrap().read_vec::<u8>(..).is_err());
    let key = Key::parse("v/0").unwrap();
    assert!(dataset.store().write(key, b"", WriteMode::Replace).is_err(), "references are not changed");
}
