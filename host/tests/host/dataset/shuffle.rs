//! The element size of shuffle, which netcdf-c and numcodecs read differently.

use std::sync::Arc;

use ncz::copy::{CopyOptions, copy};
use ncz::model::{
    Array, Elements, Format, Hierarchy, NcType, Session, ShuffleReading, Slab, VariableBuilder,
};
use ncz::store::{Key, MemoryStore, Store, StoreExt, WriteMode};
use ncz::zarr::Dataset;
use ncz_test_support::{arrays, unpack};
use serde_json::{Value as Json, json};

use super::helpers::{contents, explained, memory, open, open_file, session, spec, values};

fn reading(shuffle: ShuffleReading) -> Session {
    Session { shuffle, ..session(2) }
}

fn data() -> Vec<u8> {
    (0..60).flat_map(|i| (1.5f64 * f64::from(i)).to_ne_bytes()).collect()
}

/// NCZarr metadata with this shuffle, over chunks that were shuffled by elements of `written` bytes.
fn disputed(shuffle: &Json, written: u64) -> Arc<MemoryStore> {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 60, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Double).dimensions(["x"]).chunks([20]);
    let variable = hierarchy.add_variable("/", new).unwrap();
    let session = session(1);
    let chain = json!([{"id": "shuffle", "elementsize": written}, {"id": "zstd", "level": 1}]);
    session.define(variable, Format::Zarr2, &spec(&chain.to_string())).unwrap();
    let variable = variable.clone();
    let store = memory();
    Dataset::create(store.clone(), hierarchy, session.clone(), false).unwrap().finish().unwrap();
    let stages = session.bind(&variable, Format::Zarr2, &spec(&chain.to_string())).unwrap();
    let array = Array::new(store.clone(), &variable, vec![60], stages, session.pool).unwrap();
    array.write_bytes(&Slab::whole(&[60]), Elements::Native, &data()).unwrap();
    let key = Key::parse("v/.zarray").unwrap();
    let mut zarray: Json = serde_json::from_slice(&store.read_vec(key, 1 << 20).unwrap().unwrap()).unwrap();
    zarray["filters"] = json!([shuffle]);
    store.write(key, zarray.to_string().as_bytes(), WriteMode::Replace).unwrap();
    store
}

#[test]
fn nczarr_with_another_size_than_the_type_is_refused_and_read_right_either_way_that_is_chosen() {
    // A size that is not there is 4 to numcodecs.
    for shuffle in [json!({"id": "shuffle", "elementsize": 4}), json!({"id": "shuffle"})] {
        let refused = open(disputed(&shuffle, 8), &reading(ShuffleReading::Refuse)).array("/v").unwrap_err();
        let text = explained(&refused);
        for word in ["\"/v\"", "element size 4", "8 bytes", "netcdf-c", "numcodecs"] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(refused.remedy(), Some(ncz::Remedy::ChooseShuffleSize));
        for (written, shuffle_size) in [(8, ShuffleReading::TypeSize), (4, ShuffleReading::AsStored)] {
            let dataset = open(disputed(&shuffle, written), &reading(shuffle_size));
            assert_eq!(values(&dataset.array("/v").unwrap()), data(), "{shuffle_size:?}");
            let dataset = open(disputed(&shuffle, 12 - written), &reading(shuffle_size));
            assert_ne!(values(&dataset.array("/v").unwrap()), data(), "{shuffle_size:?}");
        }
    }
}

#[test]
fn sizes_without_dispute_are_read_whatever_is_chosen() {
    for size in [0, 8] {
        for shuffle_size in [ShuffleReading::Refuse, ShuffleReading::TypeSize, ShuffleReading::AsStored] {
            let store = disputed(&json!({"id": "shuffle", "elementsize": size}), 8);
            let dataset = open(store, &reading(shuffle_size));
            assert_eq!(values(&dataset.array("/v").unwrap()), data(), "{size} {shuffle_size:?}");
        }
    }
}

#[test]
fn a_copy_as_nczarr_ends_the_dispute() {
    for (written, shuffle_size) in [(8, ShuffleReading::TypeSize), (4, ShuffleReading::AsStored)] {
        for format in [Format::NCZARR, Format::Zarr2] {
            let store = disputed(&json!({"id": "shuffle", "elementsize": 4}), written);
            let source = open(store, &reading(shuffle_size));
            let target = memory();
            let options = CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() };
            let summary = copy(&source, target.clone(), &options, &()).unwrap();
            let wanted = if format == Format::Zarr2 { written } else { 8 };
            assert_eq!(summary.variables[0].unchanged, written == wanted);
            // Nothing is left to be chosen.
            let copy = open(target, &reading(ShuffleReading::Refuse));
            assert_eq!(values(&copy.array("/v").unwrap()), data());
            let filters = &copy.hierarchy().variable("/v").unwrap().filters;
            assert_eq!(filters[0], json!({"id": "shuffle", "elementsize": wanted}));
        }
    }
}

#[test]
fn pure_zarr_means_what_it_says_and_is_distinguished_as_nczarr() {
    let folder = unpack("zarr-python/v2-shuffle8-on-f4+zstd.zip").unwrap();
    let wanted = &arrays("zarr-python/v2-shuffle8-on-f4+zstd.npz").unwrap()[0];
    let source = open_file(folder.path());
    assert_eq!(values(&source.array("/v").unwrap()), wanted.bytes);
    for format in [Format::Zarr2, Format::NCZARR] {
        let target = memory();
        let options = CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() };
        let summary = copy(&source, target.clone(), &options, &()).unwrap();
        assert_eq!(summary.variables[0].unchanged, format == Format::Zarr2);
        let copy = open(target, &session(1));
        assert_eq!(contents(&copy), contents(&source));
        let size = if format == Format::Zarr2 { 8 } else { 4 };
        assert_eq!(copy.hierarchy().variable("/v").unwrap().filters[0]["elementsize"], size);
    }
}

#[test]
fn netcdf_c_shuffles_strings_by_the_size_of_a_pointer() {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 2, false).unwrap();
    let new = VariableBuilder::new("s", NcType::String).string_length(16).dimensions(["x"]).chunks([2]);
    let new = new.filters(vec![json!({"id": "shuffle", "elementsize": 0})]);
    hierarchy.add_variable("/", new).unwrap();
    let store = memory();
    Dataset::create(store.clone(), hierarchy, session(1), false).unwrap().finish().unwrap();
    let text: Vec<u8> = (b'a'..b'a' + 16).chain(b'A'..b'A' + 16).collect();
    let mut stored = Vec::new();
    for byte in 0..8 {
        stored.extend((0..4).map(|element| text[8 * element + byte]));
    }
    store.write(Key::parse("s/0").unwrap(), &stored, WriteMode::Replace).unwrap();
    let source = open(store, &session(1));
    assert_eq!(values(&source.array("/s").unwrap()), text);
    let target = memory();
    copy(&source, target.clone(), &CopyOptions { verify: true, ..CopyOptions::default() }, &()).unwrap();
    let copy = open(target, &session(1));
    assert_eq!(values(&copy.array("/s").unwrap()), text);
    assert_eq!(copy.hierarchy().variable("/s").unwrap().filters[0]["elementsize"], 8);
}
