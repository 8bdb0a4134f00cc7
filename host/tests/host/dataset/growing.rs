//! Variables that grow: what is read afterwards is what a plain array in memory holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz::model::{
    Array, ByteOrder, DataError, Dtype, Elements, Format, Hierarchy, NcType, NewFill, Order, Session,
    Sharding, Slab, Value, VariableBuilder,
};
use ncz::store::testing::Counting;
use ncz::store::{
    Access, CreateOptions, FileStore, Key, MemoryStore, Store, StoreExt, WriteMode, ZipLayout, ZipStore,
};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use proptest::prelude::*;

use super::helpers::{explained, memory, objects, open, session, spec};

const FILL: i16 = -7;

/// Variables over the dimensions t and u, which grow, and x of 3: dimensions and chunks.
const VARIABLES: [(&str, &[&str], &[u64]); 5] = [
    ("/a", &["t", "x"], &[2, 2]),
    ("/b", &["t", "u"], &[3, 2]),
    ("/c", &["u"], &[4]),
    ("/d", &["x", "u", "t"], &[3, 1, 4]),
    ("/twice", &["t", "t"], &[2, 3]),
];

fn dimensions() -> BTreeMap<&'static str, u64> {
    [("t", 0), ("u", 2), ("x", 3)].into_iter().collect()
}

/// The formats that grow; the last with shards of two by two chunks.
const FORMATS: [(Format, bool); 5] = [
    (Format::NCZARR, false),
    (Format::Zarr2, false),
    (Format::Zarr3, false),
    (Format::Nczarr3, false),
    (Format::Zarr3, true),
];

fn hierarchy((format, sharded): (Format, bool), session: &Session) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(format);
    for (name, len) in dimensions() {
        hierarchy.add_dimension("/", name, len, name != "x").unwrap();
    }
    for (number, (path, dimensions, chunks)) in VARIABLES.into_iter().enumerate() {
        let mut new = VariableBuilder::new(path.trim_start_matches('/'), NcType::Short)
            .dimensions(dimensions.iter().copied())
            .chunks(chunks)
            .order(if number == 1 && !format.is_nczarr() { Order::F } else { Order::C })
            .byte_order(if number == 2 { ByteOrder::Big } else { ByteOrder::Little })
            .fill(NewFill::Value(Value::from(FILL)));
        if sharded {
            new = new.sharding(Sharding::new(chunks.iter().map(|len| 2 * len).collect::<Vec<_>>()));
        }
        let variable = hierarchy.add_variable("/", new).unwrap();
        let zstd = r#"{"id":"zstd"}"#;
        let shuffled = if format.is_v3() { zstd } else { r#"[{"id":"shuffle"},{"id":"zlib"}]"# };
        match number {
            0 | 4 => session.define(variable, format, &spec(zstd)).map(|_| ()).unwrap(),
            2 => session.define(variable, format, &spec(shuffled)).map(|_| ()).unwrap(),
            _ => {}
        }
    }
    hierarchy
}

/// What the dataset should hold: lengths, and the values that are not fill.
#[derive(Clone, Debug, Default)]
struct Model {
    lens: BTreeMap<&'static str, u64>,
    values: BTreeMap<(&'static str, Vec<u64>), i16>,
}

impl Model {
    fn shape(&self, dimensions: &[&'static str]) -> Vec<u64> {
        dimensions.iter().map(|name| self.lens[name]).collect()
    }

    fn write(&mut self, number: usize, slab: &Slab, values: &[i16]) {
        let (path, dimensions, _) = VARIABLES[number];
        for (at, &value) in coordinates(slab).into_iter().zip(values) {
            for (name, at) in dimensions.iter().zip(&at) {
                let len = self.lens.get_mut(name).unwrap();
                *len = (*len).max(at + 1);
            }
            self.values.insert((path, at), value);
        }
    }

    /// The state after a program stopped before it wrote the lengths.
    fn forget_beyond(&mut self, lens: &BTreeMap<&'static str, u64>) {
        self.lens.clone_from(lens);
        self.values.retain(|(path, at), _| {
            let (_, dimensions, _) = VARIABLES.iter().find(|variable| variable.0 == *path).unwrap();
            dimensions.iter().zip(at).all(|(name, at)| at < &lens[name])
        });
    }

    fn compare(&self, dataset: &Dataset) {
        for (path, dimensions, _) in VARIABLES {
            let array = dataset.array(path).unwrap_or_else(|error| panic!("{}", explained(&error)));
            let shape = self.shape(dimensions);
            assert_eq!(array.shape(), shape, "{path}");
            let slab = Slab::whole(&shape);
            let wanted: Vec<i16> = coordinates(&slab)
                .into_iter()
                .map(|at| self.values.get(&(path, at)).copied().unwrap_or(FILL))
                .collect();
            assert_eq!(shorts(&array, &slab), wanted, "{path} of {shape:?}");
        }
    }
}

fn coordinates(slab: &Slab) -> Vec<Vec<u64>> {
    let total: u64 = slab.count().iter().product();
    let at = |mut number: u64| {
        let mut at = slab.start().to_vec();
        for axis in (0..at.len()).rev() {
            at[axis] += number % slab.count()[axis] * slab.stride()[axis];
            number /= slab.count()[axis];
        }
        at
    };
    (0..total).map(at).collect()
}

fn shorts(array: &Array, slab: &Slab) -> Vec<i16> {
    let mut out = vec![0; slab.elements().unwrap() as usize * 2];
    array
        .read_bytes(slab, Elements::Native, &mut out)
        .unwrap_or_else(|error| panic!("{}", explained(&error)));
    out.chunks_exact(2).map(|pair| i16::from_ne_bytes([pair[0], pair[1]])).collect()
}

fn bytes(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Writes, in pure Zarr with a resize before: nothing there is unlimited.
fn write(dataset: &mut Dataset, path: &str, slab: &Slab, values: &[i16]) -> Result<(), DataError> {
    if !dataset.hierarchy().format.is_nczarr() {
        let variable = dataset.hierarchy().variable(path).unwrap();
        let mut shape = dataset.hierarchy().shape_of(variable);
        for (axis, len) in shape.iter_mut().enumerate() {
            *len = (*len).max(slab.start()[axis] + (slab.count()[axis] - 1) * slab.stride()[axis] + 1);
        }
        dataset.resize(path, &shape)?;
    }
    dataset.write(path, slab, Elements::Native, &bytes(values))
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, Vec<(u64, u64, u64)>),
    Flush,
    /// Closed and opened again.
    Reopen,
    /// Stopped and opened again.
    Stop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0..VARIABLES.len(), prop::collection::vec((0u64..7, 1u64..5, 1u64..3), 3));
    let step = prop_oneof![
        6 => write.prop_map(|(number, spans)| Step::Write(number, spans)),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
        1 => Just(Step::Stop),
    ];
    prop::collection::vec(step, 1..12)
}

fn slab_of(number: usize, spans: &[(u64, u64, u64)]) -> Slab {
    let (_, dimensions, _) = VARIABLES[number];
    let span = |(name, span): (&&str, &(u64, u64, u64))| match *name {
        "x" => (span.0.min(2), 1, span.2),
        _ => *span,
    };
    let spans: Vec<_> = dimensions.iter().zip(spans).map(span).collect();
    let part = |part: fn(&(u64, u64, u64)) -> u64| spans.iter().map(part).collect::<Vec<u64>>();
    Slab::new(part(|span| span.0), part(|span| span.1)).with_stride(part(|span| span.2))
}

/// Opened with the draft of NCZarr over version 3, if the format is that.
fn reopened(store: Arc<dyn Store>, session: &Session) -> Dataset {
    let options = ReadOptions { nczarr3: true, ..ReadOptions::default() };
    Dataset::open(store, session.clone(), &options).unwrap_or_else(|error| panic!("{}", explained(&error)))
}

/// Runs the steps; `again` reopens the store.
fn play(
    store: Arc<dyn Store>,
    again: &dyn Fn() -> Arc<dyn Store>,
    format: (Format, bool),
    threads: usize,
    steps: &[Step],
) {
    let at_once = store.capabilities().atomic_publish && store.to_string().ends_with(".zip");
    let session = session(threads);
    Dataset::create(store, hierarchy(format, &session), session.clone(), true).unwrap().finish().unwrap();
    let mut dataset = reopened(again(), &session);
    let mut model = Model { lens: dimensions(), ..Model::default() };
    let mut saved = model.clone();
    for (round, step) in steps.iter().enumerate() {
        match step {
            Step::Write(number, spans) => {
                let slab = slab_of(*number, spans);
                let count = slab.elements().unwrap() as i16;
                let values: Vec<i16> = (0..count).map(|value| value + 100 * (round as i16 + 1)).collect();
                let result = write(&mut dataset, VARIABLES[*number].0, &slab, &values);
                result.unwrap_or_else(|error| panic!("{}", explained(&error)));
                model.write(*number, &slab, &values);
            }
            Step::Flush => {
                dataset.flush().unwrap();
                if !at_once {
                    saved.clone_from(&model);
                }
            }
            Step::Reopen => {
                dataset.finish().unwrap();
                saved.clone_from(&model);
                dataset = reopened(again(), &session);
            }
            Step::Stop => {
                drop(dataset);
                if at_once {
                    model.clone_from(&saved);
                } else {
                    model.forget_beyond(&saved.lens);
                }
                dataset = reopened(again(), &session);
            }
        }
        model.compare(&dataset);
    }
    dataset.finish().unwrap();
    let dataset = reopened(again(), &session);
    model.compare(&dataset);
    assert!(dataset.hierarchy().warnings.is_empty(), "{:?}", dataset.hierarchy().warnings);
    for variable in dataset.hierarchy().variables() {
        assert_eq!(variable.shape, dataset.hierarchy().shape_of(variable), "{}", variable.path);
    }
    assert_eq!(dataset.hierarchy().consolidated, ncz::model::Consolidated::Current);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_dataset_in_memory_grows_as_a_plain_array_does(steps in steps(), format in 0..FORMATS.len(), threads in 1usize..3) {
        let store = memory();
        let again = || -> Arc<dyn Store> { store.clone() };
        play(store.clone(), &again, FORMATS[format], threads, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_dataset_in_a_directory_grows_as_a_plain_array_does(steps in steps(), format in 0..FORMATS.len()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grown.zarr");
        let store = Arc::new(FileStore::create(&path, CreateOptions::new()).unwrap());
        let again = || -> Arc<dyn Store> { Arc::new(FileStore::open(&path, Access::ReadWrite).unwrap()) };
        play(store, &again, FORMATS[format], 2, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_dataset_in_a_zip_archive_grows_as_a_plain_array_does(steps in steps(), format in 0..FORMATS.len()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grown.zip");
        let store = Arc::new(ZipStore::create(&path, CreateOptions::new(), ZipLayout::Automatic).unwrap());
        let again = || -> Arc<dyn Store> {
            Arc::new(ZipStore::open(&path, Access::ReadWrite, ZipLayout::Automatic).unwrap())
        };
        play(store, &again, FORMATS[format], 2, &steps);
    }
}

/// A dataset with the variables of the model.
fn made(format: Format) -> Arc<MemoryStore> {
    let (store, session) = (memory(), session(1));
    Dataset::create(store.clone(), hierarchy((format, false), &session), session, false)
        .unwrap()
        .finish()
        .unwrap();
    store
}

fn put(store: &dyn Store, key: &str, bytes: &[u8]) {
    store.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
}

fn text(store: &dyn Store, key: &str) -> String {
    String::from_utf8(store.read_vec(Key::parse(key).unwrap(), 1 << 20).unwrap().unwrap()).unwrap()
}

#[test]
fn chunks_of_another_program_beyond_the_end_are_not_data() {
    let store = made(Format::NCZARR);
    let session = session(2);
    let mut dataset = open(store.clone(), &session);
    dataset.write("/c", &Slab::new([0], [5]), Elements::Native, &bytes(&[1, 2, 3, 4, 5])).unwrap();
    dataset.finish().unwrap();
    // c is big-endian in chunks of 4, shuffled and deflated: the padding of its second chunk, and a third one.
    let array = {
        let mut longer = text(&*store, "c/.zarray");
        longer = longer.replace("\"shape\": [5]", "\"shape\": [12]");
        let other = memory();
        for (key, object) in objects(&*store, true) {
            put(&*other, &key, &object);
        }
        put(&*other, "c/.zarray", longer.as_bytes());
        let dataset = open(other.clone(), &session);
        dataset
            .array("/c")
            .unwrap()
            .write_bytes(&Slab::new([0], [12]), Elements::Native, &bytes(&[9; 12]))
            .unwrap();
        other
    };
    for key in ["c/1", "c/2"] {
        put(&*store, key, &array.read_vec(Key::parse(key).unwrap(), 1 << 20).unwrap().unwrap());
    }
    let mut dataset = open(store.clone(), &session);
    assert_eq!(shorts(&dataset.array("/c").unwrap(), &Slab::new([4], [1])), [9], "the chunk was replaced");
    dataset.write("/c", &Slab::new([11], [1]), Elements::Native, &bytes(&[6])).unwrap();
    dataset.finish().unwrap();
    let dataset = open(store.clone(), &session);
    let wanted = [1, 2, 3, 4, 9, FILL, FILL, FILL, FILL, FILL, FILL, 6];
    assert_eq!(shorts(&dataset.array("/c").unwrap(), &Slab::new([0], [12])), wanted);
    // Chunks there that cannot be decoded are not data either.
    put(&*store, "c/4", b"rubbish");
    let mut dataset = open(store.clone(), &session);
    dataset.write("/c", &Slab::new([20], [1]), Elements::Native, &bytes(&[7])).unwrap();
    assert_eq!(
        shorts(&dataset.array("/c").unwrap(), &Slab::new([12], [9])),
        [FILL, FILL, FILL, FILL, FILL, FILL, FILL, FILL, 7]
    );
}

#[test]
fn a_remote_write_lists_existing_chunks_instead_of_requesting_each() {
    let store = made(Format::NCZARR);
    put(&*store, "c/77", b"rubbish");
    let counting = Arc::new(Counting::new(store));
    let mut dataset = open(counting.clone(), &session(1));
    let far = 1 << 40;
    dataset.write("/c", &Slab::new([far], [1]), Elements::Native, &bytes(&[1])).unwrap();
    dataset.finish().unwrap();
    assert!(counting.counts().reads < 100, "{:?}", counting.counts());
    let dataset = open(counting, &session(1));
    let array = dataset.array("/c").unwrap();
    assert_eq!(array.shape(), [far + 1]);
    assert_eq!(shorts(&array, &Slab::new([77 * 4], [4])), [FILL; 4]);
    assert_eq!(shorts(&array, &Slab::new([far - 1], [2])), [FILL, 1]);
}

#[test]
fn appending_record_by_record_reads_the_last_chunk_once_and_writes_metadata_once() {
    let store = made(Format::NCZARR);
    let counting = Arc::new(Counting::new(store.clone()));
    let mut dataset = open(counting.clone(), &session(1));
    let before = counting.counts();
    for record in 0..40 {
        let range = dataset.append("/a", 0, Elements::Native, &bytes(&[record, record, record])).unwrap();
        assert_eq!(range, record as u64..record as u64 + 1);
    }
    let after = counting.counts();
    // Two chunks a record; each is read if it already has the record before, or may exist.
    assert_eq!(after.writes - before.writes, 80);
    assert!(after.reads - before.reads <= 160, "{}", after.reads - before.reads);
    assert!(open(store.clone(), &session(1)).array("/a").unwrap().shape() == [0, 3]);
    dataset.flush().unwrap();
    assert_eq!(open(store, &session(1)).array("/a").unwrap().shape(), [40, 3]);
    // The journal, the lengths of the four arrays over t, and the group.
    assert_eq!(counting.counts().writes - after.writes, 1 + 5);
    dataset.flush().unwrap();
    assert_eq!(counting.counts().writes - after.writes, 1 + 5);
}

#[test]
fn what_does_not_grow_is_refused_with_netcdfs_numbers() {
    let store = made(Format::NCZARR);
    let mut dataset = open(store.clone(), &session(1));
    let mut refused = |path: &str, start: &[u64], count: &[u64]| {
        let slab = Slab::new(start, count);
        let data = vec![0; slab.elements().unwrap() as usize * 2];
        dataset.write(path, &slab, Elements::Native, &data).unwrap_err()
    };
    let error = refused("/a", &[0, 2], &[1, 2]);
    assert_eq!(error.netcdf_code(), -57);
    assert_eq!(
        error.to_string(),
        "variable \"/a\": its dimension \"/x\" has 3 elements and is not unlimited, but the write reaches to 4; resize \
         the variable first"
    );
    assert_eq!(refused("/a", &[0, 4], &[1, 1]).netcdf_code(), -40);
    assert_eq!(refused("/a", &[0], &[1]).netcdf_code(), -36);
    assert_eq!(refused("/c", &[u64::MAX], &[2]).netcdf_code(), -57);
    assert_eq!(refused("/none", &[0], &[1]).netcdf_code(), -49);
    let error = dataset.resize("/a", &[0, 2]).unwrap_err();
    assert!(error.to_string().contains("a variable cannot shrink"), "{error}");
    let error = dataset.append("/a", 0, Elements::Native, &[0; 7]).unwrap_err();
    assert_eq!(error.netcdf_code(), -36);
    // Data of another size change nothing.
    dataset.write("/a", &Slab::new([5, 0], [1, 3]), Elements::Native, &[0; 4]).unwrap_err();
    dataset.write("/a", &Slab::new([5, 0], [0, 3]), Elements::Native, &[]).unwrap_err();
    assert_eq!(dataset.array("/a").unwrap().shape(), [0, 3]);
    let before = objects(&*store, true);
    dataset.finish().unwrap();
    assert_eq!(objects(&*store, true), before);
}

#[test]
fn a_dataset_that_is_open_for_reading_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let session = session(1);
    let store = Arc::new(FileStore::create(&path, CreateOptions::new()).unwrap());
    Dataset::create(store, hierarchy((Format::NCZARR, false), &session), session.clone(), true)
        .unwrap()
        .finish()
        .unwrap();
    let mut dataset = open(Arc::new(FileStore::open(&path, Access::Read).unwrap()), &session);
    let error = dataset.append("/c", 0, Elements::Native, &bytes(&[1])).unwrap_err();
    assert!(matches!(error, DataError::NotWritable { .. }) && error.netcdf_code() == -37, "{error}");
    let only =
        ReadOptions { consolidated: ncz::zarr::metadata::ConsolidatedPolicy::Only, ..ReadOptions::default() };
    let store = Arc::new(FileStore::open(&path, Access::ReadWrite).unwrap());
    let mut dataset = Dataset::open(store, session, &only).unwrap();
    let error = dataset.append("/c", 0, Elements::Native, &bytes(&[1])).unwrap_err();
    assert!(matches!(error, DataError::NotWritable { .. }), "{error}");
}

#[test]
fn old_generations_are_not_changed() {
    let folder = ncz_test_support::unpack("netcdf-c-4.9.2/nczarr/simple.zip").unwrap();
    let store = Arc::new(FileStore::open(folder.path(), Access::ReadWrite).unwrap());
    let mut dataset = open(store, &session(1));
    let (path, shape) = {
        let variable = dataset.hierarchy().variables().find(|variable| !variable.shape.is_empty()).unwrap();
        (variable.path.clone(), variable.shape.iter().map(|len| len + 1).collect::<Vec<_>>())
    };
    let error = dataset.resize(&path, &shape).unwrap_err();
    assert_eq!(error.netcdf_code(), -37, "{error}");
    let error = dataset.change(|hierarchy| {
        hierarchy.add_group("/", "new")?;
        Ok(())
    });
    assert_eq!(error.unwrap_err().netcdf_code(), -37);
}

#[test]
fn codecs_that_count_with_the_arrays_length_do_not_grow_along_it() {
    let session = session(1);
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "y", 2, true).unwrap();
    hierarchy.add_dimension("/", "x", 64, true).unwrap();
    for (name, dimensions) in [("s", vec!["y", "x"]), ("other", vec!["x"])] {
        let new = VariableBuilder::new(name, NcType::Int)
            .dimensions(dimensions.clone())
            .chunks(vec![32; dimensions.len()]);
        let variable = hierarchy.add_variable("/", new).unwrap();
        if name == "s" {
            session.define(variable, Format::NCZARR, &spec("szip,32,16")).unwrap();
        }
    }
    let store = memory();
    Dataset::create(store.clone(), hierarchy, session.clone(), false).unwrap().finish().unwrap();
    let mut dataset = open(store, &session);
    let values: Vec<u8> = (0..256i32).flat_map(i32::to_ne_bytes).collect();
    dataset.write("/s", &Slab::new([0, 0], [4, 64]), Elements::Native, &values).unwrap();
    let error = dataset.resize("/s", &[4, 80]).unwrap_err();
    assert!(error.to_string().contains("depend on the array's shape"), "{error}");
    // Nor by way of another variable.
    let error = dataset.append("/other", 0, Elements::Native, &values).unwrap_err();
    assert!(error.to_string().starts_with("variable \"/s\""), "{error}");
    let mut out = vec![0; values.len()];
    dataset.array("/s").unwrap().read_bytes(&Slab::new([0, 0], [4, 64]), Elements::Native, &mut out).unwrap();
    assert_eq!(out, values);
}

#[test]
fn dimensions_without_a_name_are_not_shared() {
    let store = memory();
    put(&*store, ".zgroup", br#"{"zarr_format": 2}"#);
    for name in ["v", "w"] {
        let zarray = r#"{"zarr_format": 2, "shape": [4], "chunks": [3], "dtype": "<i2", "order": "C", "fill_value": -7, "filters": null, "compressor": null, "mine": 1}"#;
        put(&*store, &format!("{name}/.zarray"), zarray.as_bytes());
    }
    let mut dataset = open(store.clone(), &session(1));
    assert_eq!(dataset.append("/v", 0, Elements::Native, &bytes(&[1, 2])).unwrap(), 4..6);
    dataset.finish().unwrap();
    let dataset = open(store.clone(), &session(1));
    assert_eq!(dataset.array("/v").unwrap().shape(), [6]);
    assert_eq!(dataset.array("/w").unwrap().shape(), [4]);
    let zarray = text(&*store, "v/.zarray");
    assert!(zarray.contains("\"mine\": 1") && zarray.contains("\"shape\": [6]"), "{zarray}");
    assert_eq!(objects(&*store, true).len(), 3, "no document was added");
}

#[test]
fn what_another_program_changed_meanwhile_is_not_overwritten() {
    let store = made(Format::NCZARR);
    let mut first = open(store.clone(), &session(1));
    let mut second = open(store.clone(), &session(1));
    first.append("/c", 0, Elements::Native, &bytes(&[1])).unwrap();
    second.append("/c", 0, Elements::Native, &bytes(&[2, 3])).unwrap();
    first.flush().unwrap();
    let error = second.flush().unwrap_err();
    assert!(matches!(&error, DataError::Changed { .. }), "{error}");
    assert_eq!(open(store, &session(1)).array("/c").unwrap().shape(), [3]);
}

#[test]
fn what_another_program_appended_meanwhile_is_data() {
    for format in [Format::NCZARR, Format::Zarr3] {
        let store = made(format);
        let mut first = open(store.clone(), &session(1));
        let mut second = open(store.clone(), &session(1));
        let theirs: Vec<i16> = (0..30).collect();
        first.append("/c", 0, Elements::Native, &bytes(&theirs)).unwrap();
        first.finish().unwrap();
        for attempt in 0..2 {
            let error = second.append("/c", 0, Elements::Native, &bytes(&[-1; 20])).unwrap_err();
            assert!(matches!(&error, DataError::Changed { .. }), "attempt {attempt}: {error}");
        }
        second.finish().unwrap();
        let wanted: Vec<i16> = [FILL, FILL].into_iter().chain(theirs).collect();
        let dataset = open(store, &session(1));
        assert_eq!(shorts(&dataset.array("/c").unwrap(), &Slab::new([0], [32])), wanted);
    }
}

#[test]
fn a_shard_need_not_fit_in_memory_to_grow() {
    let mut hierarchy = Hierarchy::new(Format::Zarr3);
    hierarchy.add_dimension("/", "t", 0, false).unwrap();
    hierarchy.add_dimension("/", "x", 1 << 38, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Byte).dimensions(["t", "x"]).chunks([1, 1 << 20]);
    let new = new.sharding(Sharding::new([2, 1 << 38]));
    hierarchy.add_variable("/", new.fill(NewFill::Value(Value::from(1i8)))).unwrap();
    let store = memory();
    Dataset::create(store.clone(), hierarchy, session(1), false).unwrap().finish().unwrap();
    let value = |dataset: &Dataset, at: [u64; 2]| {
        let mut out = [0];
        dataset.array("/v").unwrap().read_bytes(&Slab::new(at, [1, 1]), Elements::Native, &mut out).unwrap();
        out[0]
    };
    for t in 0..3 {
        let mut dataset = open(store.clone(), &session(1));
        dataset.resize("/v", &[t + 1, 1 << 38]).unwrap();
        dataset.write("/v", &Slab::new([t, 5], [1, 1]), Elements::Native, &[7]).unwrap();
        // Of a program that stops before its next flush.
        dataset.flush().unwrap();
        dataset.resize("/v", &[t + 2, 1 << 38]).unwrap();
        dataset.write("/v", &Slab::new([t + 1, 5], [1, 1]), Elements::Native, &[9]).unwrap();
    }
    let mut dataset = open(store, &session(1));
    dataset.resize("/v", &[6, 1 << 38]).unwrap();
    let column = |x: u64| (0..6).map(|t| value(&dataset, [t, x])).collect::<Vec<u8>>();
    assert_eq!(column(5), [7, 7, 7, 1, 1, 1]);
    assert_eq!(column(1 << 30), [1; 6]);
}

#[test]
fn strings_of_every_kind_grow() {
    let session = session(1);
    let dtypes = [(Dtype::vlen_text(), None), (Dtype::parse("|S6").unwrap(), Some(NcType::String))];
    for (dtype, nc_type) in dtypes {
        let mut hierarchy = Hierarchy::new(Format::Zarr2);
        hierarchy.add_dimension("/", "t", 2, false).unwrap();
        let new = VariableBuilder::of_dtype("s", dtype, nc_type).dimensions(["t"]).chunks([4]);
        hierarchy.add_variable("/", new).unwrap();
        hierarchy.add_variable("/", VariableBuilder::new("n", NcType::Short).dimensions(["t"])).unwrap();
        let store = memory();
        Dataset::create(store.clone(), hierarchy, session.clone(), false).unwrap().finish().unwrap();
        let mut dataset = open(store.clone(), &session);
        dataset.resize("/s", &[7]).unwrap();
        dataset.write_strings("/s", &Slab::new([1], [6]), &["b", "c", "d", "e", "f", "g"]).unwrap();
        // Stopped: what is beyond the second is not data.
        drop(dataset);
        let mut dataset = open(store.clone(), &session);
        dataset.resize("/n", &[6]).unwrap();
        dataset.flush().unwrap();
        dataset.resize("/s", &[9]).unwrap();
        dataset.write_strings("/s", &Slab::new([8], [1]), &["z"]).unwrap();
        dataset.finish().unwrap();
        let dataset = open(store, &session);
        assert_eq!(dataset.array("/n").unwrap().stored_shape(), [9]);
        let strings = dataset.strings("/s").unwrap().read(&Slab::whole(&[9])).unwrap();
        let wanted: [&[u8]; 9] = [b"", b"b", b"", b"", b"", b"", b"", b"", b"z"];
        assert_eq!(strings.iter().collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn arrays_of_a_stopped_program_are_brought_to_the_common_length() {
    let store = made(Format::NCZARR);
    let mut dataset = open(store.clone(), &session(1));
    dataset.write("/a", &Slab::new([0, 0], [3, 3]), Elements::Native, &bytes(&[1; 9])).unwrap();
    let before = objects(&*store, true);
    dataset.finish().unwrap();
    // Only the length of /a was written.
    for (key, document) in before.iter().filter(|(key, _)| *key != "a/.zarray") {
        put(&*store, key, document);
    }
    let mut dataset = open(store.clone(), &session(1));
    assert_eq!(dataset.array("/d").unwrap().shape(), [3, 2, 3]);
    dataset.write("/b", &Slab::new([0, 0], [1, 1]), Elements::Native, &bytes(&[4])).unwrap();
    dataset.flush().unwrap();
    let dataset = open(store, &session(1));
    for variable in dataset.hierarchy().variables() {
        assert_eq!(variable.shape, dataset.hierarchy().shape_of(variable), "{}", variable.path);
    }
    assert_eq!(dataset.hierarchy().root.dimension("t").unwrap().len, 3);
}
