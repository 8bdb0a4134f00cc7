//! Parts of a dataset: variables, groups, slabs; and chunks of any shape in little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ncz::copy::{Codecs, CopyError, CopyOptions, Indices, Selection, VariablePlan, copy};
use ncz::model::{
    DataError, DimensionRef, Elements, Format, Hierarchy, NcType, NewFill, Order, Session, Slab, Value,
    VariableBuilder,
};
use ncz::store::testing::Counting;
use ncz::store::{Key, MemoryStore, Store, StoreExt, WriteMode};
use ncz::zarr::Dataset;
use proptest::prelude::*;

use super::helpers::{create, explained, memory, open, session, spec, values};

const FILL: i16 = -7;

fn copied(source: &Dataset, options: &CopyOptions) -> Dataset {
    let target = memory();
    copy(source, target.clone(), options, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
    open(target, &session(2))
}

fn only(selection: Selection) -> CopyOptions {
    CopyOptions { selection, verify: true, ..CopyOptions::default() }
}

fn paths(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn names(dataset: &Dataset) -> Vec<&str> {
    dataset.hierarchy().variables().map(|variable| variable.path.as_str()).collect()
}

fn root(name: &str) -> DimensionRef {
    DimensionRef { group: "/".to_owned(), name: name.to_owned() }
}

/// `t(time, x)`, the coordinates `time` and `x`, `/g/q(time)` and `/g/h/s(z)`; values are their index.
fn weather(session: &Session, format: Format) -> Dataset {
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "time", 10, true).unwrap();
    hierarchy.add_dimension("/", "x", 6, false).unwrap();
    hierarchy.add_dimension("/", "unused", 3, false).unwrap();
    hierarchy.add_group("/", "g").unwrap();
    hierarchy.add_group("/g", "h").unwrap();
    hierarchy.add_dimension("/g/h", "z", 4, false).unwrap();
    for (group, name, dimensions, chunks) in [
        ("/", "time", vec!["time"], vec![4]),
        ("/", "x", vec!["x"], vec![6]),
        ("/", "t", vec!["time", "x"], vec![3, 4]),
        ("/g", "q", vec!["time"], vec![512]),
        ("/g/h", "s", vec!["z"], vec![4]),
    ] {
        let new = VariableBuilder::new(name, NcType::Int).dimensions(dimensions).chunks(chunks);
        let variable = hierarchy.add_variable(group, new).unwrap();
        session.define(variable, format, &spec(r#"{"id":"zstd"}"#)).unwrap();
    }
    let dataset = create(hierarchy, session);
    for path in ["/time", "/x", "/t", "/g/q", "/g/h/s"] {
        let array = dataset.array(path).unwrap();
        let len: u64 = array.shape().iter().product();
        let data: Vec<u8> = (0..len as i32).flat_map(i32::to_ne_bytes).collect();
        array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &data).unwrap();
    }
    dataset
}

fn ints(dataset: &Dataset, path: &str) -> Vec<i32> {
    let bytes = values(&dataset.array(path).unwrap());
    bytes.chunks_exact(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn a_slab_cuts_every_variable_of_its_dimension() {
    for format in [Format::NCZARR, Format::Zarr2, Format::Zarr3] {
        let source = weather(&session(2), format);
        let slabs = BTreeMap::from([
            (root("time"), Indices { start: 2, count: 3, step: 3 }),
            (root("x"), Indices { start: 1, count: 2, step: 1 }),
        ]);
        let part = copied(&source, &only(Selection { slabs, ..Selection::default() }));
        assert_eq!(ints(&part, "/time"), [2, 5, 8]);
        assert_eq!(ints(&part, "/g/q"), [2, 5, 8]);
        assert_eq!(ints(&part, "/x"), [1, 2]);
        assert_eq!(ints(&part, "/t"), [13, 14, 31, 32, 49, 50]);
        assert_eq!(ints(&part, "/g/h/s"), [0, 1, 2, 3]);
        if format.is_nczarr() {
            let dimension = part.hierarchy().root.dimension("time").unwrap();
            assert_eq!((dimension.len, dimension.unlimited), (3, true));
        }
        let x = part.hierarchy().variable("/x").unwrap();
        assert_eq!(x.chunk_shape, [2], "no chunk is longer than its dimension");
    }
}

#[test]
fn variables_and_groups_are_chosen_and_left_out() {
    let source = weather(&session(2), Format::NCZARR);
    let dimensions = |part: &Dataset| -> Vec<String> {
        part.hierarchy().root.dimensions.iter().map(|dimension| dimension.name.clone()).collect()
    };
    let part = copied(&source, &only(Selection { variables: Some(paths(&["/x"])), ..Selection::default() }));
    assert_eq!(names(&part), ["/x"]);
    assert_eq!(dimensions(&part), ["x", "unused"], "unused dimensions stay");
    assert_eq!(part.hierarchy().groups().count(), 1);
    let keep = Selection { variables: Some(paths(&["/x"])), keep_unused: true, ..Selection::default() };
    let part = copied(&source, &only(keep));
    assert_eq!(dimensions(&part), ["time", "x", "unused"]);
    assert_eq!(part.hierarchy().groups().count(), 3);
    let part = copied(&source, &only(Selection { groups: Some(paths(&["/g/h"])), ..Selection::default() }));
    assert_eq!(names(&part), ["/g/h/s"]);
    let part = copied(&source, &only(Selection { exclude: paths(&["/t", "/g/q"]), ..Selection::default() }));
    assert_eq!(names(&part), ["/time", "/x", "/g/h/s"]);
    let part = copied(&source, &only(Selection { values: Some(paths(&["/time"])), ..Selection::default() }));
    assert_eq!(names(&part).len(), 5);
    assert_eq!(ints(&part, "/time"), (0..10).collect::<Vec<_>>());
    let missing = ints(&part, "/t");
    assert!(missing.iter().all(|value| *value == missing[0]) && missing[0] != 0, "{missing:?}");
}

#[test]
fn what_does_not_exist_is_refused() {
    let source = weather(&session(1), Format::NCZARR);
    let refused = |selection: Selection| copy(&source, memory(), &only(selection), &()).unwrap_err();
    let slab = |count| BTreeMap::from([(root("x"), Indices { start: 1, count, step: 2 })]);
    assert!(matches!(
        refused(Selection { exclude: paths(&["/none"]), ..Selection::default() }),
        CopyError::NoSuchVariable { path } if path == "/none"
    ));
    assert!(matches!(
        refused(Selection { groups: Some(paths(&["/none"])), ..Selection::default() }),
        CopyError::NoSuchGroup { .. }
    ));
    assert!(matches!(
        refused(Selection { slabs: slab(4), ..Selection::default() }),
        CopyError::Slab { len: 6, .. }
    ));
    copy(&source, memory(), &only(Selection { slabs: slab(3), ..Selection::default() }), &()).unwrap();
}

#[test]
fn a_variable_that_cannot_be_read_blocks_a_copy_unless_it_is_left_out() {
    let store = memory();
    let whole = weather(&session(1), Format::NCZARR);
    copy(&whole, store.clone(), &CopyOptions::default(), &()).unwrap();
    for (key, damage) in [("x/.zarray", ("<i4", "|O")), ("g/q/.zarray", ("\"zstd\"", "\"lz9\""))] {
        let key = Key::parse(key).unwrap();
        let text = String::from_utf8(store.read_vec(key, 1 << 20).unwrap().unwrap()).unwrap();
        assert!(text.contains(damage.0), "{text}");
        store.write(key, text.replacen(damage.0, damage.1, 1).as_bytes(), WriteMode::Replace).unwrap();
    }
    let source = open(store, &session(1));
    let error = copy(&source, memory(), &CopyOptions::default(), &()).unwrap_err();
    let CopyError::Unreadable { paths: lost, .. } = &error else { panic!("{error:?}") };
    assert_eq!(lost, &["/x", "/g/q"]);

    let without = Selection { exclude: paths(&["/x", "/g/q"]), ..Selection::default() };
    assert_eq!(names(&copied(&source, &only(without))), ["/time", "/t", "/g/h/s"]);
    let skip = only(Selection { skip_unreadable: true, ..Selection::default() });
    let target = memory();
    let summary = copy(&source, target.clone(), &skip, &()).unwrap();
    let skipped: Vec<&str> = summary.unreadable.iter().map(|lost| lost.path.as_str()).collect();
    assert_eq!(skipped, ["/x", "/g/q"]);
    assert!(summary.unreadable[1].reason.contains("lz9"), "{:?}", summary.unreadable);
    let part = open(target, &session(1));
    assert_eq!(names(&part), ["/time", "/t", "/g/h/s"]);
    assert_eq!(part.hierarchy().unreadable().count(), 0);
}

#[test]
fn unlimited_dimensions_become_fixed() {
    let source = weather(&session(1), Format::NCZARR);
    let fixed = CopyOptions { fixed: true, verify: true, ..CopyOptions::default() };
    let part = copied(&source, &fixed);
    assert!(part.hierarchy().root.dimensions.iter().all(|dimension| !dimension.unlimited));
    assert_eq!(
        part.hierarchy().variable("/g/q").unwrap().chunk_shape,
        [10],
        "netcdf-c has no longer chunk then"
    );
    assert_eq!(ints(&part, "/t"), ints(&source, "/t"));
}

/// One variable `/v` of shorts, of which every chunk but some is there; and its values.
fn shorts(shape: &[u64], chunk: &[u64], order: Order, store: Arc<dyn Store>) -> (Dataset, Vec<i16>) {
    let session = session(2);
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    let names: Vec<String> = (0..shape.len()).map(|d| format!("d{d}")).collect();
    for (name, &len) in names.iter().zip(shape) {
        hierarchy.add_dimension("/", name, len, false).unwrap();
    }
    let new = VariableBuilder::new("v", NcType::Short).dimensions(names).chunks(chunk.to_vec()).order(order);
    let variable = hierarchy.add_variable("/", new.fill(NewFill::Value(Value::from(FILL)))).unwrap();
    session.define(variable, Format::Zarr2, &spec(r#"{"id":"zlib","level":1}"#)).unwrap();
    let mut dataset = Dataset::create(store, hierarchy, session, false).unwrap();
    dataset.flush().unwrap();
    let array = dataset.array("/v").unwrap();
    let all: Vec<i16> = (0..shape.iter().product::<u64>()).map(|at| at as i16).collect();
    let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_ne_bytes()).collect();
    array.write_bytes(&Slab::whole(shape), Elements::Native, &bytes).unwrap();
    let counts = array.chunk_counts();
    for number in (0..counts.iter().product::<u64>()).filter(|number| number % 5 == 3) {
        let mut rest = number;
        let mut index = vec![0; counts.len()];
        for (at, count) in index.iter_mut().zip(&counts).rev() {
            (*at, rest) = (rest % count, rest / count);
        }
        dataset.store().delete(Key::parse(&array.object_key(&index)).unwrap()).unwrap();
    }
    let now = values(&array);
    let now = now.chunks_exact(2).map(|bytes| i16::from_ne_bytes(bytes.try_into().unwrap())).collect();
    (dataset, now)
}

fn rechunk(chunk: Vec<u64>, codecs: &str, memory: u64) -> CopyOptions {
    let plan =
        VariablePlan { codecs: Codecs::Spec(spec(codecs)), chunks: Some(chunk), ..VariablePlan::default() };
    let variables = BTreeMap::from([("/v".to_owned(), plan)]);
    CopyOptions { variables, memory: Some(memory), verify: true, ..CopyOptions::default() }
}

#[test]
fn rows_become_columns_in_little_memory_and_every_chunk_is_read_once() {
    let store = Arc::new(Counting::new(MemoryStore::new("rows")));
    let (source, wanted) = shorts(&[300, 400], &[1, 400], Order::C, store.clone());
    let before = store.counts();
    let part = {
        let target = memory();
        let options = CopyOptions { verify: false, ..rechunk(vec![300, 1], "[]", 20_000) };
        copy(&source, target.clone(), &options, &()).unwrap();
        open(target, &session(1))
    };
    let read = store.counts().reads - before.reads;
    assert!((300..330).contains(&read), "{read} reads of 300 chunks");
    let found = values(&part.array("/v").unwrap());
    let wanted: Vec<u8> = wanted.iter().flat_map(|value| value.to_ne_bytes()).collect();
    assert!(found == wanted);
}

#[test]
fn a_scratch_folder_that_is_not_there_is_named() {
    let (source, _) = shorts(&[300, 400], &[1, 400], Order::C, memory());
    let folder = tempfile::tempdir().unwrap().path().join("gone");
    let options = CopyOptions { scratch: Some(folder.clone()), ..rechunk(vec![300, 1], "[]", 20_000) };
    let error = copy(&source, memory(), &options, &()).unwrap_err();
    assert!(matches!(error, CopyError::Data(DataError::Store { .. })), "{error:?}");
    assert!(explained(&error).contains(folder.to_str().unwrap()), "{}", explained(&error));
}

type Dimension = (u64, u64, u64, Indices);

fn dimensions() -> impl Strategy<Value = Vec<Dimension>> {
    let dimension = (1u64..20, 1u64..8, 1u64..8).prop_flat_map(|(len, from, to)| {
        (0..len, 1u64..4).prop_flat_map(move |(start, step)| {
            let most = (len - start).div_ceil(step);
            (1..=most).prop_map(move |count| (len, from, to, Indices { start, count, step }))
        })
    });
    prop::collection::vec(dimension, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn any_part_in_any_chunks_and_any_memory_has_the_values_of_the_original(
        dimensions in dimensions(), fortran in any::<bool>(), cut in any::<bool>(), memory_bytes in 1u64..3000,
    ) {
        let shape: Vec<u64> = dimensions.iter().map(|d| d.0).collect();
        let from: Vec<u64> = dimensions.iter().map(|d| d.1).collect();
        let to: Vec<u64> = dimensions.iter().map(|d| d.2).collect();
        let order = if fortran { Order::F } else { Order::C };
        let (source, all) = shorts(&shape, &from, order, memory());
        let mut options = rechunk(to, r#"{"id":"zstd"}"#, memory_bytes);
        let part: Vec<Indices> =
            dimensions.iter().map(|d| if cut { d.3 } else { Indices::all(d.0) }).collect();
        if cut {
            for (d, indices) in part.iter().enumerate() {
                options.selection.slabs.insert(root(&format!("d{d}")), *indices);
            }
        }
        let copied = copied(&source, &options);
        let mut wanted = vec![0usize];
        for (indices, len) in part.iter().zip(&shape) {
            wanted = wanted.iter().flat_map(|at| {
                (0..indices.count).map(move |i| at * *len as usize + (indices.start + i * indices.step) as usize)
            }).collect();
        }
        let wanted: Vec<u8> = wanted.into_iter().flat_map(|at| all[at].to_ne_bytes()).collect();
        prop_assert_eq!(values(&copied.array("/v").unwrap()), wanted);
    }
}
