//! Data of Zarr version 3: what zarr-python stored, shards with codecs, and copies between versions and grids.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::model::{
    Array, ByteOrder, Elements, Format, Hierarchy, KeyEncoding, NcType, NewFill, Order, Separator, Sharding,
    Slab, Value, VariableBuilder,
};
use ncz::store::testing::Counting;
use ncz::store::{MemoryStore, Store};
use ncz::zarr::Dataset;
use ncz_test_support::{arrays, fixtures, unpack};
use proptest::prelude::*;
use serde_json::json;

use super::helpers::{create, explained, memory, objects, open_file, session, spec, values};

#[test]
fn datasets_of_zarr_python_hold_the_values_that_were_put_in() {
    let mut read = 0;
    for entry in std::fs::read_dir(fixtures().join("zarr-python")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|ending| ending != "zip") || !name.starts_with("v3-") {
            continue;
        }
        let folder = unpack(&path).unwrap();
        let dataset = open_file(folder.path());
        for wanted in arrays(path.with_extension("npz")).unwrap() {
            let variable = format!("/{}", wanted.name.replace("__", "/"));
            let array = dataset.array(&variable).unwrap_or_else(|e| panic!("{name}: {}", explained(&e)));
            let mut bytes = vec![0; wanted.bytes.len()];
            assert!(!wanted.dtype.starts_with('>') && !wanted.fortran_order);
            array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut bytes).unwrap();
            assert_eq!(array.shape(), wanted.shape, "{name}");
            assert!(bytes == wanted.bytes, "{name}{variable}: other values");
            read += 1;
        }
    }
    assert!(read >= 20, "{read} arrays were read");
}

/// How one variable `/v` of shorts is stored.
#[derive(Clone, Debug)]
struct Stored {
    format: Format,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    shard: Option<Vec<u64>>,
    axes: Vec<usize>,
    big: bool,
    codecs: &'static str,
    at_end: bool,
}

const FILL: i16 = -7;

impl Stored {
    fn dataset(&self, store: Arc<dyn Store>, threads: usize) -> Dataset {
        let session = session(threads);
        let mut hierarchy = Hierarchy::new(self.format);
        let names: Vec<String> = (0..self.shape.len()).map(|d| format!("d{d}")).collect();
        for (name, &len) in names.iter().zip(&self.shape) {
            hierarchy.add_dimension("/", name, len, false).unwrap();
        }
        let mut new = VariableBuilder::new("v", NcType::Short)
            .dimensions(names)
            .chunks(self.chunk.clone())
            .order(Order::from_axes(self.axes.clone()))
            .byte_order(if self.big { ByteOrder::Big } else { ByteOrder::Little })
            .fill(NewFill::Value(Value::from(FILL)));
        if let Some(shard) = &self.shard {
            new = new.sharding(Sharding { index_at_end: self.at_end, ..Sharding::new(shard.clone()) });
        }
        let variable = hierarchy.add_variable("/", new).unwrap();
        session.define(variable, self.format, &spec(self.codecs)).unwrap();
        let mut dataset = Dataset::create(store, hierarchy, session, false).unwrap();
        dataset.flush().unwrap();
        dataset
    }
}

/// Writes those chunks that `exists` says, through the chunk, so that the others of a shard are missing.
fn fill(array: &Array, exists: impl Fn(usize) -> bool) {
    let mut worker = array.worker();
    for (number, index) in chunks(array).into_iter().enumerate().filter(|(number, _)| exists(*number)) {
        let elements = array.chain().chunk_len() / 2;
        let chunk: Vec<u8> =
            (0..elements).flat_map(|i| ((i * 7 + number * 1000) as i16).to_le_bytes()).collect();
        array.write_chunk(&mut worker, &index, &chunk).unwrap();
    }
}

fn chunks(array: &Array) -> Vec<Vec<u64>> {
    let counts = array.object_counts();
    let mut all = vec![Vec::new()];
    for count in counts {
        all = all.iter().flat_map(|index| (0..count).map(|i| [&index[..], &[i]].concat())).collect();
    }
    let mut chunks: Vec<_> =
        all.iter().flat_map(|object| array.object_chunks(object).collect::<Vec<_>>()).collect();
    chunks.sort();
    chunks
}

/// The chunks that exist.
fn existing(array: &Array) -> BTreeSet<Vec<u64>> {
    let mut worker = array.worker();
    chunks(array)
        .into_iter()
        .filter(|index| array.read_stored(&mut worker, index).unwrap().is_some())
        .collect()
}

fn reopened(store: Arc<MemoryStore>, format: Format) -> Dataset {
    let options = ncz::zarr::metadata::ReadOptions {
        nczarr3: format == Format::Nczarr3,
        ..ncz::zarr::metadata::ReadOptions::default()
    };
    Dataset::open(store, session(2), &options).unwrap_or_else(|error| panic!("{}", explained(&error)))
}

const CODECS: [&str; 4] = [
    "[]",
    r#"{"id":"zstd","level":1}"#,
    r#"{"id":"gzip","level":1}"#,
    r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#,
];

fn stored() -> impl Strategy<Value = Stored> {
    let side = (1u64..9, 1u64..4, 1u64..4);
    (
        prop::collection::vec(side, 1..4),
        any::<bool>(),
        prop::sample::select(&CODECS[..]),
        any::<Option<bool>>(),
    )
        .prop_flat_map(|(sides, big, codecs, sharded)| {
            let axes = Just((0..sides.len()).collect::<Vec<_>>()).prop_shuffle();
            axes.prop_map(move |axes| Stored {
                format: Format::Zarr3,
                shape: sides.iter().map(|side| side.0).collect(),
                chunk: sides.iter().map(|side| side.1).collect(),
                shard: sharded.map(|_| sides.iter().map(|side| side.1 * side.2).collect()),
                axes,
                big,
                codecs,
                at_end: sharded.unwrap_or_default(),
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_copy_is_the_original_in_every_version(
        stored in stored(),
        exists: u64,
        format in prop::sample::select(vec![Format::Zarr3, Format::Zarr2, Format::NCZARR, Format::Nczarr3]),
        codecs in prop::option::of(prop::sample::select(&CODECS[..])),
        other_chunks in any::<bool>(),
    ) {
        let source = stored.dataset(memory(), 2);
        let original = source.array("/v").unwrap();
        fill(&original, |number| exists & (1 << (number % 64)) != 0);
        let plan = VariablePlan {
            codecs: codecs.map_or(Codecs::Keep, |codecs| Codecs::Spec(spec(codecs))),
            chunks: other_chunks.then(|| stored.chunk.iter().map(|len| len + 1).collect()), ..VariablePlan::default() };
        let variables = BTreeMap::from([("/v".to_owned(), plan)]);
        let options = CopyOptions { variables, format: Some(format), verify: true, ..CopyOptions::default() };
        let target = memory();
        let summary = copy(&source, target.clone(), &options, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
        let dataset = reopened(target, format);
        let made = dataset.array("/v").unwrap();
        prop_assert_eq!(values(&made), values(&original));
        let variable = dataset.hierarchy().variable("/v").unwrap();
        prop_assert_eq!(variable.sharding.is_some(), format.is_v3() && stored.shard.is_some());
        let of_version = if format.is_v3() { (KeyEncoding::Default, Separator::Slash) } else { (KeyEncoding::V2, Separator::Dot) };
        prop_assert_eq!((variable.key_encoding, variable.separator), of_version);
        if !other_chunks {
            // Rewritten in another order they pass through a slab, which writes whole objects.
            let same_order = variable.order.axes(stored.axes.len()) == stored.axes;
            if same_order {
                prop_assert_eq!(existing(&made), existing(&original));
                prop_assert_eq!(summary.variables[0].chunks as usize, existing(&original).len());
            }
            let same = codecs.is_none() && same_order && variable.sharding.is_some() == stored.shard.is_some();
            // netcdf-c does not swap the fill value of missing chunks.
            let original = source.hierarchy().variable("/v").unwrap();
            let is_swapped = format.is_nczarr() && variable.dtype.order() != original.dtype.order();
            prop_assert!(!same || summary.variables[0].unchanged || is_swapped);
        }
        // And back, in shards.
        let again = memory();
        let options = CopyOptions { format: Some(Format::Zarr3), verify: true, ..CopyOptions::default() };
        copy(&dataset, again.clone(), &options, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
        prop_assert_eq!(values(&reopened(again, Format::Zarr3).array("/v").unwrap()), values(&original));
    }

    #[test]
    fn shards_with_codecs_are_written_and_read_as_the_array(stored in stored(), threads in 1usize..4, cut in 0u64..5) {
        let dataset = stored.dataset(memory(), threads);
        let array = dataset.array("/v").unwrap();
        let elements: u64 = stored.shape.iter().product();
        let mut model: Vec<i16> = (0..elements).map(|i| (i * 31) as i16).collect();
        let bytes = |model: &[i16]| model.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        array.write_bytes(&Slab::whole(&stored.shape), Elements::Native, &bytes(&model)).unwrap();
        prop_assert_eq!(values(&array), bytes(&model));
        // The rows from a cut on anew.
        let first = cut.min(stored.shape[0] - 1);
        let mut start = vec![0; stored.shape.len()];
        start[0] = first;
        let count: Vec<u64> = stored.shape.iter().zip(&start).map(|(len, start)| len - start).collect();
        let row = (elements / stored.shape[0]) as usize;
        let tail = &mut model[first as usize * row..];
        tail.iter_mut().for_each(|value| *value ^= 0x1234);
        let tail = bytes(tail);
        array.write_bytes(&Slab::new(start, count), Elements::Native, &tail).unwrap();
        prop_assert_eq!(values(&array), bytes(&model));
    }
}

#[test]
fn a_copy_with_the_same_shards_passes_them_as_they_are() {
    let stored = Stored {
        format: Format::Zarr3,
        shape: vec![20, 20],
        chunk: vec![2, 5],
        shard: Some(vec![8, 10]),
        axes: vec![1, 0],
        big: true,
        codecs: CODECS[1],
        at_end: false,
    };
    let store = memory();
    let source = stored.dataset(store.clone(), 2);
    fill(&source.array("/v").unwrap(), |number| number % 3 == 0);
    let target = memory();
    let summary = copy(&source, target.clone(), &CopyOptions::default(), &()).unwrap();
    assert!(summary.variables[0].unchanged);
    assert_eq!(summary.variables[0].chunks, 14);
    assert_eq!(summary.variables[0].decoded, 14 * 20);
    assert_eq!(objects(&*target, false), objects(&*store, false));
    assert_eq!(summary.foreign_objects.keys, [""; 0]);
}

#[test]
fn a_megabyte_of_a_large_shard_touches_the_index_and_what_it_needs() {
    let stored = Stored {
        format: Format::Zarr3,
        shape: vec![64, 512, 512],
        chunk: vec![1, 128, 128],
        shard: Some(vec![64, 512, 512]),
        axes: vec![0, 1, 2],
        big: false,
        codecs: CODECS[1],
        at_end: true,
    };
    let store = Arc::new(Counting::new(MemoryStore::new("test")));
    let dataset = stored.dataset(store.clone(), 2);
    let array = dataset.array("/v").unwrap();
    let data: Vec<u8> =
        (0..64 * 512 * 512u64).flat_map(|i| (i.wrapping_mul(i) as i16 / 3).to_ne_bytes()).collect();
    array.write_bytes(&Slab::whole(&stored.shape), Elements::Native, &data).unwrap();
    // Two levels of 0.5 MB: 32 chunks.
    let mut worker = array.worker();
    let mut needed = 64 * 16 * 16 + 4;
    for number in 0..32 {
        let index = [7 + number / 16, number / 4 % 4, number % 4];
        needed += array.read_stored(&mut worker, &index).unwrap().unwrap().len() as u64;
    }
    let mut out = vec![0; 1 << 20];
    let before = store.counts();
    array.read_bytes(&Slab::new([7, 0, 0], [2, 512, 512]), Elements::Native, &mut out).unwrap();
    let after = store.counts();
    assert!(out == data[7 << 19..9 << 19]);
    assert_eq!(after.bytes_read - before.bytes_read, needed);
    assert!(after.reads - before.reads <= 1 + 3, "{} requests", after.reads - before.reads);
}

#[test]
fn codecs_that_the_other_version_cannot_name_are_reported() {
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    hierarchy.add_dimension("/", "x", 4, false).unwrap();
    // Version 3 has the checksum after the data only.
    let new = VariableBuilder::new("v", NcType::Int).dimensions(["x"]);
    hierarchy.add_variable("/", new.filters(vec![json!({"id": "crc32c", "location": "start"})])).unwrap();
    let source = create(hierarchy, &session(1));
    let options = CopyOptions { format: Some(Format::Zarr3), ..CopyOptions::default() };
    let text = explained(&copy(&source, memory(), &options, &()).unwrap_err());
    assert!(text.contains("crc32c") && text.contains("choose codecs for the copy"), "{text}");
}
