//! What is copied is the original: same chunks as identical bytes, other chunks and codecs with equal values.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz::copy::{Codecs, CopyOptions, CopySummary, VariablePlan, copy};
use ncz::model::{
    ByteOrder, Consolidated, Dtype, Elements, Format, Hierarchy, NcType, NewFill, Order, Session, Slab,
    Value, VariableBuilder,
};
use ncz::store::testing::Counting;
use ncz::store::{Key, MemoryStore, Store, StoreExt, WriteMode};
use ncz::zarr::Dataset;
use ncz_test_support::unpack;
use proptest::prelude::*;
use serde_json::Value as Json;

use super::helpers::{contents, create, explained, memory, objects, open, open_file, session, spec, values};

const FILL: i16 = -7;

fn copied(source: &Dataset, options: &CopyOptions) -> (Arc<MemoryStore>, CopySummary) {
    let target = memory();
    let summary =
        copy(source, target.clone(), options, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
    (target, summary)
}

fn plan_of(path: &str, codecs: Codecs, chunks: Option<Vec<u64>>) -> CopyOptions {
    let variables =
        BTreeMap::from([(path.to_owned(), VariablePlan { codecs, chunks, ..VariablePlan::default() })]);
    CopyOptions { variables, ..CopyOptions::default() }
}

fn all_with(dataset: &Dataset, codecs: &Codecs) -> CopyOptions {
    let plan = VariablePlan { codecs: codecs.clone(), chunks: None, ..VariablePlan::default() };
    let variables = dataset.hierarchy().variables().filter(|variable| !variable.shape.is_empty());
    let variables = variables.map(|variable| (variable.path.clone(), plan.clone())).collect();
    CopyOptions { variables, verify: true, ..CopyOptions::default() }
}

/// One variable `/v` of shorts.
#[derive(Clone, Debug)]
struct Shorts {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    order: Order,
    big: bool,
    codecs: &'static str,
    format: Format,
}

impl Shorts {
    fn dataset(&self, session: &Session) -> Dataset {
        let mut hierarchy = Hierarchy::new(self.format);
        let names: Vec<String> = (0..self.shape.len()).map(|d| format!("d{d}")).collect();
        for (name, &len) in names.iter().zip(&self.shape) {
            hierarchy.add_dimension("/", name, len, len == 0).unwrap();
        }
        let new = VariableBuilder::new("v", NcType::Short)
            .dimensions(names)
            .chunks(self.chunk.clone())
            .order(self.order.clone())
            .byte_order(if self.big { ByteOrder::Big } else { ByteOrder::Little })
            .fill(NewFill::Value(Value::from(FILL)));
        let variable = hierarchy.add_variable("/", new).unwrap();
        session.define(variable, self.format, &spec(self.codecs)).unwrap();
        create(hierarchy, session)
    }
}

fn bytes(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Writes those chunks of `/v` that `exists` says; the values that the variable then has.
fn fill_some(dataset: &Dataset, exists: impl Fn(u64) -> bool) -> Vec<i16> {
    let array = dataset.array("/v").unwrap();
    let shape = array.shape().to_vec();
    let mut model = vec![FILL; shape.iter().product::<u64>() as usize];
    let counts = array.chunk_counts();
    for number in (0..counts.iter().product()).filter(|&number| exists(number)) {
        let slab = array.chunk_slab(&unravel(number, &counts));
        let elements = slab.elements().unwrap();
        let mut data = Vec::new();
        for element in 0..elements {
            let inside = unravel(element, slab.count());
            let at =
                slab.start().iter().zip(&inside).zip(&shape).fold(0, |at, ((s, i), len)| at * len + s + i);
            let value = (at as i16).wrapping_mul(31).wrapping_add(number as i16);
            model[at as usize] = value;
            data.push(value);
        }
        array.write_bytes(&slab, Elements::Native, &bytes(&data)).unwrap();
    }
    model
}

fn unravel(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut index = vec![0; counts.len()];
    for (at, count) in index.iter_mut().zip(counts).rev() {
        *at = number % count;
        number /= count;
    }
    index
}

const CODECS: [&str; 6] = [
    "[]",
    r#"{"id":"zstd","level":1}"#,
    r#"[{"id":"shuffle","elementsize":2},{"id":"zlib","level":1}]"#,
    r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#,
    r#"[{"id":"fletcher32"}]"#,
    r#"{"id":"bz2","level":1}"#,
];

fn shorts() -> impl Strategy<Value = (Shorts, Vec<u64>, u64)> {
    let dimension = (0u64..9, 1u64..6, 1u64..12);
    let dimensions = prop::collection::vec(dimension, 0..4);
    let rest = (any::<(bool, bool, bool)>(), prop::sample::select(&CODECS[..]), any::<u64>());
    (dimensions, rest).prop_map(|(dimensions, ((fortran, big, nczarr), codecs, exists))| {
        let source = Shorts {
            shape: dimensions.iter().map(|d| d.0).collect(),
            chunk: dimensions.iter().map(|d| d.1).collect(),
            order: if fortran && !nczarr { Order::F } else { Order::C },
            big,
            codecs,
            format: if nczarr { Format::NCZARR } else { Format::Zarr2 },
        };
        (source, dimensions.iter().map(|d| d.2).collect(), exists)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn other_chunks_codecs_and_formats_hold_the_values_of_a_plain_array(
        (source, chunk, exists) in shorts(),
        codecs in prop::option::of(prop::sample::select(&CODECS[..])),
        rechunk: bool,
        to_nczarr: bool,
        threads in 1usize..4,
    ) {
        let session = session(threads);
        let dataset = source.dataset(&session);
        let model = fill_some(&dataset, |number| exists >> (number % 64) & 1 == 1);
        let wanted = codecs.map_or(Codecs::Keep, |codecs| Codecs::Spec(spec(codecs)));
        let format = if to_nczarr { Format::NCZARR } else { Format::Zarr2 };
        let options = CopyOptions {
            format: Some(format),
            verify: true,
            consolidated: true,
            ..plan_of("/v", wanted, rechunk.then(|| chunk.clone()))
        };
        let (target, summary) = copied(&dataset, &options);
        let copy = open(target.clone(), &session);
        prop_assert_eq!(copy.hierarchy().format, format);
        prop_assert_eq!(copy.hierarchy().consolidated, Consolidated::Current);
        let array = copy.array("/v").unwrap();
        prop_assert_eq!(array.shape(), &source.shape[..]);
        prop_assert_eq!(array.chunk_shape(), if rechunk { &chunk[..] } else { &source.chunk[..] });
        prop_assert_eq!(values(&array), bytes(&model));
        let (before, after) = (objects(&**dataset.store(), false), objects(&*target, false));
        prop_assert_eq!(summary.variables[0].chunks, after.len() as u64);
        prop_assert_eq!(summary.variables[0].after, after.values().map(|chunk| chunk.len() as u64).sum::<u64>());
        if !rechunk {
            prop_assert!(before.keys().eq(after.keys()));
        }
        if before.is_empty() {
            prop_assert!(after.is_empty());
        }
        // netcdf-c takes every chunk for a row-major one.
        let order = if to_nczarr { Order::C } else { source.order.clone() };
        prop_assert_eq!(&copy.hierarchy().variable("/v").unwrap().order, &order);
        let same_order = order == source.order || source.shape.len() < 2;
        // netcdf-c opens no dataset with blosc on a scalar.
        let is_unread = to_nczarr && source.shape.is_empty() && source.codecs.contains("blosc");
        // It does not swap the fill value of missing chunks.
        let order = |dataset: &Dataset| dataset.hierarchy().variable("/v").unwrap().dtype.order();
        let is_swapped = order(&copy) != order(&dataset);
        prop_assert!(!is_swapped || source.big && to_nczarr && source.format == Format::Zarr2);
        if !rechunk && codecs.is_none() && same_order && !is_unread && !is_swapped {
            prop_assert!(summary.variables[0].unchanged);
            prop_assert_eq!(before, after);
        }
    }
}

#[test]
fn what_netcdf_c_wrote_is_copied_as_identical_chunks_and_the_true_size_of_shuffle() {
    for generation in ["4.10.2", "4.9.2", "4.9.0", "4.8.0"] {
        for name in ["simple", "filters", "groups", "endian", "types", "fill", "names", "scalars", "attrs"] {
            let Ok(folder) = unpack(format!("netcdf-c-{generation}/nczarr/{name}.zip")) else { continue };
            let source = open_file(folder.path());
            let (target, summary) = copied(&source, &CopyOptions { verify: true, ..CopyOptions::default() });
            let (before, after) = (objects(&**source.store(), false), objects(&*target, false));
            assert!(summary.variables.iter().all(|variable| variable.unchanged), "{generation} {name}");
            assert_eq!(before, after, "{generation} {name}");
            let target: Arc<dyn Store> = target;
            let copy = open(target, &session(1));
            assert_eq!(contents(&source), contents(&copy), "{generation} {name}");
            for (old, new) in source.hierarchy().variables().zip(copy.hierarchy().variables()) {
                for (old_codec, new_codec) in old.filters.iter().zip(&new.filters) {
                    if old_codec["id"] == "shuffle" && old_codec["elementsize"] == 0 {
                        let size = Json::from(old.dtype.size());
                        assert_eq!(*new_codec, serde_json::json!({"id": "shuffle", "elementsize": size}));
                    } else {
                        // As text, so that order and spelling of numbers count.
                        assert_eq!(old_codec.to_string(), new_codec.to_string());
                    }
                }
                assert_eq!(old.filters.len(), new.filters.len());
            }
        }
    }
}

#[test]
fn codec_json_is_unchanged_except_for_the_open_size_of_shuffle() {
    let hierarchy = Hierarchy::new(Format::NCZARR);
    let store = memory();
    Dataset::create(store.clone(), hierarchy, session(1), false).unwrap().finish().unwrap();
    let zarray = r#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f8", "order": "C", "fill_value": 0.50,
        "filters": [{"elementsize": 0, "id": "shuffle"}], "compressor": {"level": 3, "id": "zstd", "checksum": false}}"#;
    put(&*store, "v/.zarray", zarray.as_bytes());
    let zattrs = String::from_utf8(take(&*store, ".zattrs")).unwrap();
    put(
        &*store,
        ".zattrs",
        zattrs
            .replace(r#""arrays":[]"#, r#""arrays":["v"]"#)
            .replace(r#""arrays": []"#, r#""arrays": ["v"]"#)
            .as_bytes(),
    );
    let source = open(store, &session(1));
    let (target, _) = copied(&source, &CopyOptions::default());
    let text = String::from_utf8(take(&*target, "v/.zarray")).unwrap();
    let copied: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(copied["filters"][0].to_string(), r#"{"elementsize":8,"id":"shuffle"}"#);
    assert_eq!(copied["compressor"].to_string(), r#"{"level":3,"id":"zstd","checksum":false}"#);
    assert!(text.contains(r#""fill_value": 0.50"#) || text.contains(r#""fill_value":0.50"#), "{text}");
}

fn put(store: &dyn Store, key: &str, bytes: &[u8]) {
    store.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
}

fn take(store: &dyn Store, key: &str) -> Vec<u8> {
    store.read_vec(Key::parse(key).unwrap(), 1 << 20).unwrap().unwrap()
}

#[test]
fn every_fixture_survives_every_codec_and_the_way_to_the_other_format_and_back() {
    let zarr = [
        "v2-none",
        "v2-zlib",
        "v2-consolidated",
        "v2-dtype-be-f8",
        "v2-blosc-lz4",
        "v2-dtype-S7",
        "v2-dtype-i1",
    ];
    let netcdf = ["simple", "filters", "groups", "endian", "types", "fill", "names", "scalars", "attrs"];
    let zarr = zarr.iter().map(|name| format!("zarr-python/{name}.zip"));
    let netcdf = netcdf.iter().map(|name| format!("netcdf-c-4.10.2/nczarr/{name}.zip"));
    for name in zarr.chain(netcdf) {
        let folder = unpack(&name).unwrap();
        let source = open_file(folder.path());
        let wanted = contents(&source);
        for codecs in
            [Codecs::Sensible, Codecs::Spec(spec("[]")), Codecs::Spec(spec(r#"{"id":"zstd","level":1}"#))]
        {
            let (target, _) = copied(&source, &all_with(&source, &codecs));
            assert_eq!(contents(&open(target, &session(2))), wanted, "{name}");
        }
        let other = if source.hierarchy().format.is_nczarr() { Format::Zarr2 } else { Format::NCZARR };
        let to = |format| CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() };
        let (there, _) = copied(&source, &to(other));
        let there = open(there, &session(2));
        assert_eq!(there.hierarchy().format, other, "{name}");
        let (back, _) = copied(&there, &to(source.hierarchy().format));
        let back = contents(&open(back, &session(2)));
        for ((path, wanted), (_, there), back) in wanted
            .iter()
            .zip(contents(&there))
            .map(|((path, wanted), there)| ((path, wanted), there, &back[path]))
        {
            // Text may become a list of strings of one letter, and types of numbers are guessed from the digits.
            assert_eq!(wanted.bytes(), there.bytes(), "{name} {path} there");
            assert_eq!(wanted.bytes(), back.bytes(), "{name} {path} back");
        }
    }
}

#[test]
fn a_sparse_array_of_2_to_the_50_is_copied_by_its_three_chunks() {
    let len = 1u64 << 25;
    let source = Shorts {
        shape: vec![len, len],
        chunk: vec![1, 4],
        order: Order::C,
        big: false,
        codecs: r#"{"id":"zstd","level":1}"#,
        format: Format::NCZARR,
    };
    let session = session(2);
    let dataset = source.dataset(&session);
    let array = dataset.array("/v").unwrap();
    let places = [[0, 0], [12_345_678, 4 * 1_000_001], [len - 1, len - 4]];
    for (number, start) in places.iter().enumerate() {
        let data = bytes(&[number as i16 + 1, 2, 3, 4]);
        array.write_bytes(&Slab::new(*start, [1, 4]), Elements::Native, &data).unwrap();
    }
    for (codecs, chunks) in [
        (Codecs::Keep, None),
        (Codecs::Spec(spec("[]")), None),
        (Codecs::Keep, Some(vec![4, 1])),
        (Codecs::Keep, Some(vec![1, 8])),
        (Codecs::Keep, Some(vec![3, 5])),
        (Codecs::Keep, Some(vec![1, 1])),
    ] {
        let target = Arc::new(Counting::new(MemoryStore::new("target")));
        let options = CopyOptions { verify: true, ..plan_of("/v", codecs, chunks) };
        copy(&dataset, target.clone(), &options, &()).unwrap();
        assert!(target.counts().writes < 100, "{:?}", target.counts());
        let copy = open(target, &session).array("/v").unwrap();
        for (number, start) in places.iter().enumerate() {
            let mut out = [0; 8];
            copy.read_bytes(&Slab::new(*start, [1, 4]), Elements::Native, &mut out).unwrap();
            assert_eq!(out[..], bytes(&[number as i16 + 1, 2, 3, 4]));
        }
    }
}

#[test]
fn szip_in_nczarr_is_encoded_again_for_other_chunks() {
    let source = Shorts {
        shape: vec![4, 400],
        chunk: vec![4, 400],
        order: Order::C,
        big: true,
        codecs: r#"{"id":"szip","mask":32,"pixels-per-block":8}"#,
        format: Format::NCZARR,
    };
    let session = session(2);
    let dataset = source.dataset(&session);
    let model = fill_some(&dataset, |_| true);
    let options = CopyOptions { verify: true, ..plan_of("/v", Codecs::Keep, Some(vec![4, 16])) };
    let (target, summary) = copied(&dataset, &options);
    assert!(!summary.variables[0].unchanged);
    let copy = open(target, &session).array("/v").unwrap();
    // The scanline is the array's, not the chunk's.
    assert_eq!(copy.chain().working()[0].1[3], 400);
    assert_eq!(values(&copy), bytes(&model));
}

#[test]
fn an_array_at_the_root_of_a_store_becomes_a_variable_of_nczarr() {
    let store = memory();
    let zarray = r#"{"zarr_format":2,"shape":[4],"chunks":[3],"dtype":"<i2","order":"C","fill_value":5,"filters":null,"compressor":null}"#;
    put(&*store, ".zarray", zarray.as_bytes());
    put(&*store, "0", &bytes(&[1, 2, 3]));
    let source = open(store, &session(1));
    let (same, _) = copied(&source, &CopyOptions::default());
    assert_eq!(objects(&*same, false), objects(&**source.store(), false));
    assert!(open(same, &session(1)).hierarchy().root_array);
    let (target, _) = copied(
        &source,
        &CopyOptions { format: Some(Format::NCZARR), verify: true, ..CopyOptions::default() },
    );
    let copy = open(target, &session(1));
    assert!(copy.hierarchy().format.is_nczarr());
    assert_eq!(contents(&copy), contents(&source));
    assert_eq!(values(&copy.array("/data").unwrap()), bytes(&[1, 2, 3, 5]));
}

#[test]
fn in_pure_zarr_an_array_is_as_long_as_netcdf_shows_it() {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "t", 3, true).unwrap();
    for name in ["short", "long"] {
        let new = VariableBuilder::new(name, NcType::Short)
            .dimensions(["t"])
            .chunks([4])
            .fill(NewFill::Value(Value::from(FILL)));
        hierarchy.add_variable("/", new).unwrap();
        hierarchy.group_mut("/").unwrap().dimensions[0].len = 6;
    }
    let source = create(hierarchy, &session(1));
    // The padding of the edge chunk is another program's.
    put(&**source.store(), "short/0", &bytes(&[1, 2, 3, 99]));
    put(&**source.store(), "long/0", &bytes(&[1, 2, 3, 4]));
    let source = open(source.store().clone(), &session(1));
    let wanted = contents(&source);
    assert_eq!(values(&source.array("/short").unwrap()), bytes(&[1, 2, 3, FILL, FILL, FILL]));
    for format in [Format::Zarr2, Format::NCZARR] {
        let (target, _) =
            copied(&source, &CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() });
        let copy = open(target, &session(1));
        assert_eq!(contents(&copy), wanted, "{format:?}");
        assert_eq!(copy.hierarchy().warnings, [], "{format:?}");
    }
}

#[test]
fn fill_values_of_strings_mean_the_same_in_the_other_format() {
    // "abcd" is also Base64 of something else.
    for text in ["abcd", "", "x", "ü", "YWJj"] {
        for dtype in ["|S8", ">S1"] {
            if dtype == ">S1" && text.len() > 1 {
                continue;
            }
            let mut hierarchy = Hierarchy::new(Format::NCZARR);
            hierarchy.add_dimension("/", "x", 3, false).unwrap();
            let (nc_type, fill) = match dtype {
                ">S1" => (NcType::Char, Value::Char(text.into())),
                _ => (NcType::String, Value::strings([text])),
            };
            let new =
                VariableBuilder::of_dtype("v", Dtype::parse(dtype).unwrap(), Some(nc_type)).dimensions(["x"]);
            hierarchy.add_variable("/", new.fill(NewFill::Value(fill))).unwrap();
            let source = create(hierarchy, &session(1));
            let wanted = values(&source.array("/v").unwrap());
            assert!(wanted.starts_with(text.as_bytes()));
            let to = |format| CopyOptions { format: Some(format), ..CopyOptions::default() };
            let (zarr, _) = copied(&source, &to(Format::Zarr2));
            let zarr = open(zarr, &session(1));
            assert_eq!(values(&zarr.array("/v").unwrap()), wanted, "{text:?} {dtype}");
            let (back, _) = copied(&zarr, &to(Format::NCZARR));
            assert_eq!(values(&open(back, &session(1)).array("/v").unwrap()), wanted, "{text:?} {dtype}");
        }
    }
}

#[test]
fn a_contiguous_variable_with_codecs_or_chunks_is_chunked_and_a_scalar_stays_one() {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 6, false).unwrap();
    let new =
        VariableBuilder::new("v", NcType::Int).dimensions(["x"]).storage(ncz::model::Storage::Contiguous);
    hierarchy.add_variable("/", new).unwrap();
    let scalar = VariableBuilder::new("s", NcType::Int).storage(ncz::model::Storage::Scalar);
    hierarchy.add_variable("/", scalar).unwrap();
    let source = create(hierarchy, &session(1));
    let storage = |codecs: Codecs, chunks| {
        let mut options = plan_of("/v", codecs, chunks);
        options.variables.insert(
            "/s".to_owned(),
            VariablePlan { codecs: Codecs::Keep, chunks: Some(vec![]), ..VariablePlan::default() },
        );
        let (target, _) = copied(&source, &options);
        let copy = open(target, &session(1));
        assert_eq!(copy.hierarchy().variable("/s").unwrap().storage, ncz::model::Storage::Scalar);
        copy.hierarchy().variable("/v").unwrap().storage
    };
    use ncz::model::Storage::{Chunked, Contiguous};
    assert_eq!(storage(Codecs::Keep, None), Contiguous);
    assert_eq!(storage(Codecs::Spec(spec("[]")), None), Contiguous);
    assert_eq!(storage(Codecs::Sensible, None), Chunked);
    assert_eq!(storage(Codecs::Keep, Some(vec![2])), Chunked);
}

#[test]
fn lengths_at_the_end_of_64_bits_and_lengths_of_0_are_copied() {
    let session = session(2);
    let array = |shape: &[u64], chunk: &[u64]| Shorts {
        shape: shape.to_vec(),
        chunk: chunk.to_vec(),
        order: Order::F,
        big: true,
        codecs: r#"{"id":"zstd","level":1}"#,
        format: Format::Zarr2,
    };
    let long = array(&[u64::MAX], &[4]).dataset(&session);
    let ends = [Slab::new([0], [5]), Slab::new([u64::MAX - 5], [5])];
    let data = bytes(&[1, 2, 3, 4, 5]);
    for slab in &ends {
        long.array("/v").unwrap().write_bytes(slab, Elements::Native, &data).unwrap();
    }
    for chunk in [4, 1, 7, 4096] {
        let options = CopyOptions { verify: true, ..plan_of("/v", Codecs::Keep, Some(vec![chunk])) };
        let copy = open(copied(&long, &options).0, &session).array("/v").unwrap();
        let mut out = vec![0; data.len()];
        for slab in &ends {
            copy.read_bytes(slab, Elements::Native, &mut out).unwrap();
            assert_eq!(out, data);
        }
        copy.read_bytes(&Slab::new([1 << 40], [5]), Elements::Native, &mut out).unwrap();
        assert_eq!(out, bytes(&[FILL; 5]));
        copy.read_bytes(&Slab::new([u64::MAX - 1], [2]), Elements::Native, &mut [0; 4]).unwrap_err();
    }
    let empty = array(&[1 << 40, 0, 1 << 40], &[1, 1, 1]).dataset(&session);
    for chunks in [None, Some(vec![3, 4, 5])] {
        let options = CopyOptions { verify: true, ..plan_of("/v", Codecs::Keep, chunks) };
        let copy = open(copied(&empty, &options).0, &session).array("/v").unwrap();
        assert!(values(&copy).is_empty());
    }
    // This many chunks cannot be distinguished by a number.
    let wide = array(&[1 << 40, 1 << 40], &[1, 1]).dataset(&session);
    let error = copy(&wide, memory(), &CopyOptions::default(), &()).unwrap_err();
    assert!(explained(&error).contains("more than 2^64 chunks"), "{}", explained(&error));
}

#[test]
fn what_is_stored_beside_the_dataset_is_named() {
    let put = |folder: &std::path::Path, file: &str| {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    };
    let foreign_objects = |folder: &std::path::Path| {
        let (_, summary) = copied(&open_file(folder), &CopyOptions::default());
        summary.foreign_objects
    };
    for name in
        ["netcdf-c-4.10.2/nczarr/groups.zip", "netcdf-c-4.8.0/nczarr/simple.zip", "zarr-python/v2-none.zip"]
    {
        assert_eq!(foreign_objects(unpack(name).unwrap().path()), Default::default(), "{name}");
    }
    let folder = unpack("zarr-python/v2-none.zip").unwrap();
    // next to members, beyond the grid, of another rank, not a chunk
    let foreign = ["README", "notes/a/b", "v/9999.0", "v/0", "v/0.0.bak"];
    foreign.iter().for_each(|file| put(folder.path(), file));
    std::fs::create_dir_all(folder.path().join("empty/empty")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("v/9998.0")).unwrap();
    let found = foreign_objects(folder.path());
    assert_eq!(found.keys, ["README", "notes", "v/0", "v/0.0.bak", "v/9999.0", "v/9998.0"]);
    (0..100).for_each(|number| put(folder.path(), &format!("v/x{number}")));
    let found = foreign_objects(folder.path());
    assert_eq!((found.keys.len(), found.more), (100, 6));

    // Chunks in folders, and in the root.
    let folder = tempfile::tempdir().unwrap();
    let zarray = r#"{"zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": null, "dimension_separator": "/"}"#;
    std::fs::write(folder.path().join(".zarray"), zarray).unwrap();
    ["1/1", "7/0", "1.1", "README"].iter().for_each(|file| put(folder.path(), file));
    std::fs::write(folder.path().join("1/1"), [1; 4]).unwrap();
    assert_eq!(foreign_objects(folder.path()).keys, ["1.1", "7", "README"]);
}

/// Codecs that change values: by bits, by decimal digits, by blocks of neighbours.
const LOSSY: [(&str, &str); 3] = [
    ("bitround", r#"{"id":"bitround","keepbits":5}"#),
    ("quantize", r#"{"id":"quantize","digits":1,"dtype":"<f4"}"#),
    ("zfpy", r#"{"id":"zfpy","mode":4,"tolerance":0.5}"#),
];

/// Waves in `shape`, which its chunks do not divide.
fn waves(session: &Session, chunk: [u64; 2]) -> Dataset {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "y", 70, false).unwrap();
    hierarchy.add_dimension("/", "x", 45, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float).dimensions(["y", "x"]).chunks(chunk);
    // The usual fill value is so far from the data that zfp refuses the blocks with it.
    hierarchy.add_variable("/", new.fill(NewFill::Value(Value::from(0f32)))).unwrap();
    let mut dataset = Dataset::create(memory(), hierarchy, session.clone(), false).unwrap();
    let values = (0..70 * 45).map(|at| 100.0 * (at as f32 / 37.0).sin() + at as f32 / 1e3);
    let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
    dataset.array("/v").unwrap().write_bytes(&Slab::whole(&[70, 45]), Elements::Native, &bytes).unwrap();
    dataset.flush().unwrap();
    dataset
}

#[test]
fn what_a_lossy_codec_changed_is_verified_as_what_it_changes_again() {
    let session = session(2);
    let source = waves(&session, [20, 20]);
    for (name, codec) in LOSSY {
        // The same chunks, and others, whose last ones are partly beyond the end.
        for chunks in [None, Some(vec![16, 33])] {
            let options = CopyOptions { verify: true, ..plan_of("/v", Codecs::Spec(spec(codec)), chunks) };
            let (target, summary) = copied(&source, &options);
            assert_eq!(summary.variables[0].lossy, [name]);
            let copy = open(target, &session);
            let at = |dataset: &Dataset| values(&dataset.array("/v").unwrap());
            assert_ne!(at(&source), at(&copy), "{name} changes nothing here");
            // As it is, nothing changes any more.
            let keep = CopyOptions { verify: true, ..CopyOptions::default() };
            let (again, summary) = copied(&copy, &keep);
            assert!(summary.variables[0].unchanged && summary.variables[0].lossy.is_empty());
            assert_eq!(at(&open(again, &session)), at(&copy));
        }
    }
}
