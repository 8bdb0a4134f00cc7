//! HDF5 files that h5py and netCDF4 write, compared with what these programs read from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ncz_deflate as _;
use ncz_fletcher32 as _;
use ncz_model::{
    Attribute, ChunkLocation, Container, DataError, ElementType, Elements, Extent, Format, Group, NcType,
    Pool, Session, Slab, Value, Variable, row_json,
};
use ncz_netcdf::NetcdfFile;
use ncz_registry::Registry;
use ncz_shuffle as _;
use ncz_store::testing::{Counting, Remote};
use ncz_store::{Access, FileStore, Key, KeyBuf, MemoryStore, Store, WriteMode};
use ncz_test_support::python;
use serde_json::Value as Json;

/// A folder with files, and what other programs read from them.
type Written = Option<(tempfile::TempDir, Json)>;

/// The folder with the files and `contents.json`; `None` without Python.
fn written() -> Option<(&'static Path, &'static Json)> {
    static FOLDER: OnceLock<Written> = OnceLock::new();
    FOLDER.get_or_init(|| write("files")).as_ref().map(|(folder, contents)| (folder.path(), contents))
}

/// As [`written`]: every type in every layout, by several writers.
fn table() -> Option<(&'static Path, &'static Json)> {
    static FOLDER: OnceLock<Written> = OnceLock::new();
    FOLDER.get_or_init(|| write("table")).as_ref().map(|(folder, contents)| (folder.path(), contents))
}

fn write(what: &str) -> Written {
    let python = python().ok()?;
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hdf5.py");
    python.run(&script, &[folder.path(), Path::new(what)], &[]).unwrap();
    let contents = std::fs::read(folder.path().join("contents.json")).unwrap();
    Some((folder, serde_json::from_slice(&contents).unwrap()))
}

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn open_in(store: Arc<dyn Store>, name: &str) -> Result<NetcdfFile, DataError> {
    NetcdfFile::open(store, KeyBuf::parse(name).unwrap(), session())
}

fn open(folder: &Path, name: &str) -> Result<NetcdfFile, DataError> {
    open_in(Arc::new(FileStore::open(folder, Access::Read).unwrap()), name)
}

/// An error with its sources.
fn line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// What is wrong with the data of a variable.
fn compare_data(file: &NetcdfFile, path: &str, expected: &Json) -> Result<(), String> {
    let read = file.hierarchy().variable(path);
    if expected.is_null() {
        return match read {
            Ok(_) => Err("it is readable".to_owned()),
            Err(ncz_model::MetadataError::Variable { .. }) => Ok(()),
            Err(error) => Err(line(&error)),
        };
    }
    let variable = read.map_err(|error| line(&error))?;
    let shape: Vec<u64> =
        expected["shape"].as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).collect();
    if variable.shape != shape {
        return Err(format!("shape {:?}, expected {shape:?}", variable.shape));
    }
    let slab = Slab::whole(&shape);
    if let Some(strings) = expected["strings"].as_array() {
        let expected: Vec<&str> = strings.iter().map(|text| text.as_str().unwrap()).collect();
        let found: Vec<String> = if variable.nc_type == Some(NcType::Char) {
            let array = file.array(path).map_err(|error| line(&error))?;
            let mut bytes = vec![0; expected.len()];
            array.read_bytes(&slab, Elements::Native, &mut bytes).map_err(|error| line(&error))?;
            let text = |byte: &u8| if *byte == 0 { String::new() } else { char::from(*byte).to_string() };
            bytes.iter().map(text).collect()
        } else {
            let read =
                file.strings(path).and_then(|strings| strings.read(&slab)).map_err(|error| line(&error))?;
            read.iter().map(|text| String::from_utf8(text.to_vec()).unwrap()).collect()
        };
        return if found == expected { Ok(()) } else { Err(format!("{found:?}, expected {expected:?}")) };
    }
    if let Some(expected) = expected["rows"].as_array() {
        let row = file.user_array(path).and_then(|array| array.read(&slab)).map_err(|error| line(&error))?;
        let of =
            ElementType::User(Arc::clone(variable.user_type.as_ref().ok_or("it has no user-defined type")?));
        let text = |value: &ncz_model::json::Json| ncz_model::json::to_text(value);
        let found: Vec<Json> =
            row_json(&of, &row).iter().map(|value| serde_json::from_str(&text(value)).unwrap()).collect();
        return if found == *expected { Ok(()) } else { Err(format!("{found:?}, expected {expected:?}")) };
    }
    let expected = expected["bytes"].as_str().unwrap();
    let array = file.array(path).map_err(|error| line(&error))?;
    let mut bytes = vec![0x55; expected.len() / 2];
    array.read_bytes(&slab, Elements::Native, &mut bytes).map_err(|error| line(&error))?;
    let found = hex(&bytes);
    if found == expected {
        return Ok(());
    }
    let at = found.bytes().zip(expected.bytes()).position(|(a, b)| a != b).unwrap() / 2;
    Err(format!("differs at byte {at} of {}", bytes.len()))
}

fn texts(value: &Value) -> Vec<String> {
    fn all<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    let floats = |values: Vec<f64>| {
        let text = |value: f64| {
            let text = format!("{value:?}");
            if text.contains('e') { format!("{}", text.parse::<f64>().unwrap()) } else { text }
        };
        values.into_iter().map(text).collect()
    };
    match value {
        Value::Byte(values) => all(values),
        Value::UByte(values) => all(values),
        Value::Short(values) => all(values),
        Value::UShort(values) => all(values),
        Value::Int(values) => all(values),
        Value::UInt(values) => all(values),
        Value::Int64(values) => all(values),
        Value::UInt64(values) => all(values),
        Value::Float(values) => floats(values.iter().copied().map(f64::from).collect()),
        Value::Double(values) => floats(values.clone()),
        Value::Char(text) => vec![String::from_utf8_lossy(text).trim_end_matches('\0').to_owned()],
        Value::String(texts) => texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect(),
    }
}

fn compare_attributes(at: &str, found: &[Attribute], expected: &Json, faults: &mut Vec<String>) {
    // `_FillValue` and others are in the same order; what netCDF4 cannot show is not in its list.
    let expected: Vec<(String, Vec<String>)> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            let texts =
                pair[1].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
            (pair[0].as_str().unwrap().to_owned(), texts)
        })
        .collect();
    // netCDF4 does not show types without a name.
    let is_listed = |attribute: &&Attribute| {
        attribute.user.is_none() || expected.iter().any(|(name, _)| *name == attribute.name)
    };
    let found: Vec<(String, Vec<String>)> = found
        .iter()
        .filter(is_listed)
        .map(|attribute| (attribute.name.clone(), texts(&attribute.value)))
        .collect();
    if found != expected {
        faults.push(format!("{at}: attributes\n    {found:?}, netCDF4 has\n    {expected:?}"));
    }
}

fn type_name(variable: &Variable) -> String {
    match variable.nc_type {
        Some(NcType::Byte) => "int8",
        Some(NcType::UByte) => "uint8",
        Some(NcType::Short) => "int16",
        Some(NcType::UShort) => "uint16",
        Some(NcType::Int) => "int32",
        Some(NcType::UInt) => "uint32",
        Some(NcType::Int64) => "int64",
        Some(NcType::UInt64) => "uint64",
        Some(NcType::Float) | None => "float32",
        Some(NcType::Double) => "float64",
        Some(NcType::Char) => "|S1",
        Some(NcType::String) => "string",
    }
    .to_owned()
}

fn compare_group(group: &Group, expected: &Json, faults: &mut Vec<String>, at: &str) {
    let at = format!("{at}{}", group.path);
    let dimensions: Vec<Json> = group
        .dimensions
        .iter()
        .map(|dimension| serde_json::json!([dimension.name, dimension.len, dimension.unlimited]))
        .collect();
    if Json::Array(dimensions.clone()) != expected["dimensions"] {
        faults.push(format!("{at}: dimensions {dimensions:?}, netCDF4 has {}", expected["dimensions"]));
    }
    compare_attributes(&at, &group.attributes, &expected["attributes"], faults);
    let variables = expected["variables"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| variable[0].as_str().unwrap()).collect();
    let found: Vec<&str> = group
        .variables
        .iter()
        // netCDF4 does not show types without a name.
        .filter(|variable| variable.user_type.is_none() || names.contains(&variable.name.as_str()))
        .map(|variable| variable.name.as_str())
        .collect();
    let readable: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !group.unreadable.iter().any(|unreadable| unreadable.name == *name))
        .collect();
    if found != readable {
        faults.push(format!("{at}: variables {found:?}, netCDF4 has {names:?}"));
    }
    for expected in variables {
        let Ok(variable) = group.variable(expected[0].as_str().unwrap()) else { continue };
        let path = format!("{at}:{}", variable.path);
        let dimensions: Vec<&str> =
            variable.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        if serde_json::json!(dimensions) != expected[2] {
            faults.push(format!("{path}: dimensions {dimensions:?}, netCDF4 has {}", expected[2]));
        }
        let shown = expected[1].as_str().unwrap().trim_start_matches(['<', '>']);
        let shown = match shown {
            "<class 'str'>" => "string",
            "i2" => "int16",
            "i4" => "int32",
            "i8" => "int64",
            "u2" => "uint16",
            "u4" => "uint32",
            "u8" => "uint64",
            "f4" => "float32",
            "f8" => "float64",
            other => other,
        };
        if !variable.is_structured() && type_name(variable) != shown {
            faults.push(format!("{path}: type {}, netCDF4 has {shown}", type_name(variable)));
        }
        compare_attributes(&path, &variable.attributes, &expected[3], faults);
    }
    for (name, expected) in expected["groups"].as_object().unwrap() {
        match group.group(name) {
            Some(child) => compare_group(child, expected, faults, at.trim_end_matches(&group.path)),
            None => faults.push(format!("{at}: no group {name}")),
        }
    }
}

/// Compares the data of all files; `least` datasets are compared.
fn compare_values((folder, contents): (&Path, &Json), least: usize) {
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, expected) in contents.as_object().unwrap() {
        let file = match open(folder, name) {
            Ok(file) => file,
            Err(error) => {
                faults.push(format!("{name}: {}", line(&error)));
                continue;
            }
        };
        for (path, expected) in expected["data"].as_object().unwrap() {
            compared += 1;
            if let Err(fault) = compare_data(&file, path, expected) {
                faults.push(format!("{name}:{path}: {fault}"));
            }
        }
    }
    assert!(compared >= least, "{compared}");
    assert!(faults.is_empty(), "{} of {compared}\n{}", faults.len(), faults.join("\n"));
}

/// Compares all but the data of all files; `least` files are compared.
fn compare_trees((folder, contents): (&Path, &Json), least: usize) {
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, expected) in contents.as_object().unwrap() {
        let (Ok(file), Some(expected)) = (open(folder, name), expected.get("netcdf")) else {
            eprintln!("{name}: {:?}", expected.get("refused"));
            continue;
        };
        // With lengths of 4 bytes libhdf5 takes an unlimited length for a large one.
        if name.starts_with("narrow") {
            continue;
        }
        compared += 1;
        compare_group(&file.hierarchy().root, expected, &mut faults, &format!("{name}:"));
    }
    assert!(compared >= least, "{compared}");
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_value_is_that_which_h5py_reads() {
    let Some(written) = written() else { return };
    compare_values(written, 1000);
}

#[test]
fn groups_dimensions_types_and_attributes_are_those_of_netcdf4() {
    let Some(written) = written() else { return };
    compare_trees(written, 20);
}

#[test]
fn every_type_in_every_layout_and_version_is_read_as_h5py_and_netcdf4_do() {
    let Some(table) = table() else { return };
    compare_values(table, 600);
    compare_trees(table, 9);
}

fn in_memory(bytes: &[u8]) -> Arc<dyn Store> {
    let store = MemoryStore::new("memory");
    store.write(Key::parse("f.nc").unwrap(), bytes, WriteMode::Replace).unwrap();
    Arc::new(store)
}

/// Opens a file and reads what it can of it; says how many variables were read.
fn read_all(bytes: &[u8]) -> usize {
    let Ok(file) = open_in(in_memory(bytes), "f.nc") else { return 0 };
    let mut read = 0;
    for variable in file.hierarchy().variables() {
        let shape = file.hierarchy().shape_of(variable);
        let elements = ncz_model::product(shape.iter().copied());
        // A damaged shape may be that of many elements, which are read as fill.
        let slab = if elements.is_some_and(|elements| elements < 1 << 16) {
            Slab::whole(&shape)
        } else {
            Slab::new(vec![0; shape.len()], shape.iter().map(|len| (*len).min(2)).collect::<Vec<_>>())
        };
        if variable.dtype.is_variable_length() {
            let strings = file.strings(&variable.path);
            read += usize::from(strings.is_ok_and(|strings| strings.read(&slab).is_ok()));
            continue;
        }
        let Ok(array) = file.array(&variable.path) else { continue };
        let len = slab.elements().and_then(|elements| elements.checked_mul(array.dtype().size() as u64));
        let Some(len) = len.filter(|len| *len < 1 << 24) else { continue };
        let mut out = vec![0; len as usize];
        read += usize::from(array.read_bytes(&slab, Elements::Native, &mut out).is_ok());
    }
    read
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn damaged_files_are_errors_and_take_neither_long_nor_much_memory() {
    let Some((folder, contents)) = written() else { return };
    // `tests/long` sets it.
    let rounds = std::env::var("NCZ_DAMAGED_FILES").map_or(24, |rounds| rounds.parse().unwrap());
    let mut random = Random(7);
    for name in contents.as_object().unwrap().keys() {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        if bytes.len() > 500_000 {
            continue;
        }
        for round in 0..rounds {
            let start = std::time::Instant::now();
            let mut damaged = bytes.clone();
            let len = damaged.len() as u64;
            match round % 4 {
                0 => damaged.truncate(random.below(len) as usize),
                1 => damaged[random.below(len.min(600)) as usize] = random.below(256) as u8,
                2 => {
                    for _ in 0..4 {
                        damaged[random.below(len.min(4000)) as usize] = random.below(256) as u8;
                    }
                }
                _ => {
                    for _ in 0..8 {
                        damaged[random.below(len) as usize] ^= 1 << random.below(8);
                    }
                }
            }
            read_all(&damaged);
            assert!(start.elapsed().as_secs() < 30, "{name}, round {round}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_file_that_is_cut_short_is_named_with_both_lengths() {
    let Some((folder, _)) = written() else { return };
    let bytes = std::fs::read(folder.join("types.h5")).unwrap();
    let error = open_in(in_memory(&bytes[..bytes.len() - 1]), "f.nc").unwrap_err();
    let want = format!("\"f.nc\" has {} bytes where its superblock says {}", bytes.len() - 1, bytes.len());
    assert!(line(&error).contains(&want), "{}", line(&error));
    let error = open_in(in_memory(b"not a file of netCDF"), "f.nc").unwrap_err();
    assert!(line(&error).contains("is not an HDF5 file"), "{}", line(&error));
    assert!(open_in(in_memory(b""), "f.nc").is_err());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new("memory"));
    assert!(line(&open_in(store, "f.nc").unwrap_err()).contains("does not exist"));
}

/// A file in a store that counts requests, as if each round of requests were one of a network.
fn counted(folder: &Path, name: &str) -> (Arc<Remote<Counting<MemoryStore>>>, NetcdfFile) {
    let store = MemoryStore::new("memory");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    store.write(Key::parse("f.nc").unwrap(), &bytes, WriteMode::Replace).unwrap();
    let store = Arc::new(Remote::new(Counting::new(store)));
    let file = open_in(store.clone(), "f.nc").unwrap();
    (store, file)
}

#[test]
fn opening_a_file_of_100_variables_takes_few_requests() {
    let Some((folder, _)) = written() else { return };
    let (store, file) = counted(folder, "many.nc");
    assert_eq!(file.hierarchy().variables().count(), 100);
    let counts = store.inner().counts();
    assert!(counts.reads <= 3 && counts.lens == 0, "{counts:?}");
}

#[test]
fn all_chunks_of_an_index_that_lies_between_them_are_located_in_few_rounds() {
    let Some((folder, _)) = written() else { return };
    let (store, file) = counted(folder, "scattered.h5");
    let variable = file.hierarchy().variable("/x").unwrap().clone();
    let (opened, before) = (store.inner().counts().bytes_read, store.round_trips());
    let index = file.chunks(&variable).unwrap();
    assert_eq!(index.stored().unwrap().len(), 10_000);
    let (counts, rounds) = (store.inner().counts(), store.round_trips() - before);
    assert!(counts.bytes_read - opened <= 700_000, "{opened} {counts:?}");
    assert!(rounds <= 5, "{rounds} {counts:?}");
    let mut location = ChunkLocation::default();
    for row in 0..10_000 {
        index.locate(&[row, 0], &mut location).unwrap();
        assert!(matches!(location.extent, Extent::Range(_)));
    }
    assert_eq!(store.inner().counts(), counts);
}

#[test]
fn one_chunk_of_an_index_that_lies_between_them_is_located_by_the_nodes_above_it() {
    let Some((folder, _)) = written() else { return };
    let (_, all) = counted(folder, "scattered.h5");
    let variable = all.hierarchy().variable("/x").unwrap().clone();
    let all = all.chunks(&variable).unwrap();
    all.stored().unwrap();
    let (mut expected, mut found) = (ChunkLocation::default(), ChunkLocation::default());
    for row in [0, 1, 31, 32, 33, 4_321, 5_000, 9_998, 9_999] {
        let (store, file) = counted(folder, "scattered.h5");
        let before = store.inner().counts();
        file.chunks(&variable).unwrap().locate(&[row, 0], &mut found).unwrap();
        all.locate(&[row, 0], &mut expected).unwrap();
        assert_eq!(found, expected);
        let mut out = vec![0; 250 * 4];
        let slab = Slab::new(vec![row, 0], vec![1, 250]);
        file.array("/x").unwrap().read_bytes(&slab, Elements::Native, &mut out).unwrap();
        let after = store.inner().counts();
        assert!(after.reads - before.reads <= 4 && after.lens == 0, "{row}: {before:?} {after:?}");
        assert!(after.bytes_read - before.bytes_read < 20_000, "{row}: {before:?} {after:?}");
    }
    let (store, file) = counted(folder, "scattered.h5");
    let before = store.round_trips();
    let index = file.chunks(&variable).unwrap();
    for row in 0..10_000 {
        index.locate(&[row, 0], &mut found).unwrap();
        all.locate(&[row, 0], &mut expected).unwrap();
        assert_eq!(found, expected);
    }
    let rounds = store.round_trips() - before;
    assert!(rounds <= 14, "{rounds}: the rest of the nodes is read together");
}

#[test]
fn a_chunk_that_is_looked_for_alone_is_where_the_list_of_all_has_it() {
    let Some((folder, _)) = written() else { return };
    let (mut expected, mut found) = (ChunkLocation::default(), ChunkLocation::default());
    let mut stored = 0;
    for name in ["index_latest_deflate.h5", "index_latest_none.h5", "index_v108_sum.h5", "ea_paged.h5"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let store = in_memory(&bytes);
        let file = open_in(Arc::clone(&store), "f.nc").unwrap();
        for variable in file.hierarchy().variables() {
            let all = file.chunks(variable).unwrap();
            all.stored().unwrap();
            let counts: Vec<u64> = variable
                .shape
                .iter()
                .zip(&variable.chunk_shape)
                .map(|(len, chunk)| len.div_ceil(*chunk))
                .collect();
            let total: u64 = counts.iter().product();
            // Some of all, and more of the last.
            let some = (0..total).step_by((total / 7).max(1) as usize);
            for mut number in
                some.chain(total.saturating_sub(3)..total).chain([total * 9 / 10, total * 14 / 15])
            {
                if number >= total {
                    continue;
                }
                let mut index = vec![0; counts.len()];
                for (at, count) in index.iter_mut().zip(&counts).rev() {
                    *at = number % count;
                    number /= count;
                }
                // A file of which no index is read yet.
                let fresh = open_in(Arc::clone(&store), "f.nc").unwrap();
                fresh.chunks(variable).unwrap().locate(&index, &mut found).unwrap();
                all.locate(&index, &mut expected).unwrap();
                assert_eq!(found, expected, "{name} {} {index:?}", variable.path);
                stored += u32::from(found.extent != Extent::Missing);
            }
        }
    }
    assert!(stored > 300, "{stored}");
}

#[test]
fn a_chunk_has_its_place_and_the_filters_that_were_skipped() {
    let Some((folder, _)) = written() else { return };
    let file = open(folder, "masks.h5").unwrap();
    let locate = |path: &str, chunk: &[u64]| {
        let variable = file.hierarchy().variable(path).unwrap();
        let mut location = ChunkLocation::default();
        file.chunks(variable).unwrap().locate(chunk, &mut location).unwrap();
        location
    };
    assert_eq!(locate("/masked", &[0, 0]).filter_mask, 0b11);
    assert_eq!(locate("/masked", &[0, 1]).filter_mask, 0);
    assert_eq!(locate("/masked", &[1, 1]).filter_mask, 0b01);
    let file = open(folder, "edges.h5").unwrap();
    let variable = file.hierarchy().variable("/two").unwrap();
    let chunks = file.chunks(variable).unwrap();
    let mut location = ChunkLocation::default();
    chunks.locate(&[0, 0], &mut location).unwrap();
    assert_eq!(location.filter_mask, 0);
    chunks.locate(&[1, 0], &mut location).unwrap();
    assert_eq!((location.filter_mask, location.key.as_str()), (u32::MAX, "edges.h5"));
    let Extent::Range(range) = location.extent else { panic!("{location:?}") };
    assert_eq!(range.end - range.start, 4 * 2 * 4, "a chunk at the edge is not compressed");
}

#[test]
fn filters_are_written_in_the_codecs_of_zarr() {
    let Some((folder, _)) = written() else { return };
    let file = open(folder, "filters.nc").unwrap();
    let json = |name: &str, format| {
        let variable = file.hierarchy().variable(name).unwrap();
        let filters = file.agreed_filters(variable, format).unwrap();
        filters.iter().map(ncz_model::json::to_text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(json("/plain", Format::Zarr2), "");
    // netcdf-c applies the checksum first.
    let zarr2 = json("/sum", Format::Zarr2);
    assert_eq!(
        zarr2,
        r#"{"id": "fletcher32"} {"id": "shuffle", "elementsize": 4} {"id": "zlib", "level": 4}"#
    );
    assert!(json("/zlib", Format::Zarr3).contains("numcodecs.zlib"), "{}", json("/zlib", Format::Zarr3));
}

#[test]
fn links_that_lead_nowhere_or_around_are_reported_and_the_rest_is_read() {
    let Some((folder, _)) = written() else { return };
    for version in ["earliest", "v108", "latest"] {
        let file = open(folder, &format!("groups_{version}.h5")).unwrap();
        let warnings: Vec<String> = file.hierarchy().warnings.iter().map(ToString::to_string).collect();
        for (path, text) in [
            ("/g/h/i/dangling", "\"/nowhere\", which does not exist"),
            ("/g/h/i/around", "does not exist"),
            ("/g/h/i/other", "of the file \"other.h5\""),
            ("/g/h/i/loop", "another name of the group \"/\""),
            ("/g/h/i/i2", "another name of the group \"/g/h/i\""),
        ] {
            let of = warnings.iter().filter(|warning| warning.starts_with(&format!("{path}: "))).count();
            assert_eq!(of, 1, "{version} {path}: {warnings:?}");
            assert!(warnings.iter().any(|warning| warning.contains(text)), "{version} {path}: {warnings:?}");
        }
        for path in ["/g/h/i/soft", "/g/h/i/relative", "/hard", "/g/h/i/x", "/v299"] {
            assert!(file.hierarchy().variable(path).is_ok(), "{version} {path}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_named_with_the_reason() {
    let Some((folder, _)) = written() else { return };
    let reason =
        |name: &str, path: &str| line(&open(folder, name).unwrap().hierarchy().variable(path).unwrap_err());
    for (path, want) in [
        ("/unreadable_bits", "integers of 17 bits in 4 bytes"),
        ("/unreadable_reference", "references"),
        ("/unreadable_null", "neither a shape nor elements"),
    ] {
        assert!(reason("types.h5", path).contains(want), "{}", reason("types.h5", path));
    }
    assert!(reason("layouts.h5", "/unreadable_virtual").contains("virtual"));
    assert!(reason("layouts.h5", "/unreadable_external").contains("in other files"));
}
