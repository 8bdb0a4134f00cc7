//! Strings of every kind, in any slab.

use std::sync::Arc;

use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::model::{
    ByteOrder, DataError, Dtype, Format, Hierarchy, KeyEncoding, NcType, NewFill, Order, Slab, StringArray,
    Value, VariableBuilder,
};
use ncz::registry::spec::ChainSpec;
use ncz::store::{Key, MemoryStore, StoreExt, WriteMode};
use ncz::zarr::Dataset;
use ncz_test_support::{fixtures, unpack};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::helpers::{explained, memory, objects, open, open_file, session, spec};

fn whole(strings: &StringArray) -> Vec<Vec<u8>> {
    let read =
        strings.read(&Slab::whole(strings.shape())).unwrap_or_else(|error| panic!("{}", explained(&error)));
    read.iter().map(<[u8]>::to_vec).collect()
}

/// What zarr-python wrote, with the values that it was given; bytes are there as Latin-1.
#[test]
fn strings_of_zarr_python_are_read() {
    let text = std::fs::read(fixtures().join("strings/values.json")).unwrap();
    let expected: Json = serde_json::from_slice(&text).unwrap();
    let mut seen = 0;
    for version in ["v2", "v3"] {
        let folder = unpack(format!("strings/{version}.zip")).unwrap();
        let dataset = open_file(folder.path());
        assert_eq!(dataset.hierarchy().unreadable().count(), 0);
        for (name, wanted) in expected[version].as_object().unwrap() {
            if name == "sharded" {
                let error = dataset.strings(name).unwrap_err();
                assert!(explained(&error).contains("sharding_indexed"), "{}", explained(&error));
                continue;
            }
            let strings = dataset.strings(name).unwrap_or_else(|error| panic!("{}", explained(&error)));
            let is_bytes = ["bytes", "s7"].contains(&name.as_str());
            let wanted: Vec<Vec<u8>> = wanted["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap())
                .map(|text| if is_bytes { text.chars().map(|c| c as u8).collect() } else { text.into() })
                .collect();
            assert_eq!(whole(&strings), wanted, "{version} {name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 18);
}

/// What a copy of metadata and strings through our hands looks like.
fn rewritten(name: &str) -> (tempfile::TempDir, Dataset, Dataset) {
    let folder = unpack(format!("strings/{name}.zip")).unwrap();
    let source = open_file(folder.path());
    let target = Dataset::create(memory(), source.hierarchy().clone(), session(2), false).unwrap();
    // One string of `s7` holds a NUL, which is read and not written.
    for variable in source.hierarchy().variables().filter(|variable| variable.name != "s7") {
        let strings = whole(&source.strings(&variable.path).unwrap());
        let to = target.strings(&variable.path).unwrap();
        to.write(&Slab::whole(to.shape()), &strings).unwrap();
    }
    (folder, source, target)
}

#[test]
fn strings_are_written_as_zarr_python_writes_them() {
    let (_folder, source, target) = rewritten("v2");
    for variable in source.hierarchy().variables().filter(|variable| variable.name != "s7") {
        let (from, to) = (source.strings(&variable.path).unwrap(), target.strings(&variable.path).unwrap());
        assert_eq!(whole(&from), whole(&to), "{}", variable.path);
    }
    let plain = |dataset: &Dataset| {
        let mut found = objects(&**dataset.store(), false);
        found.retain(|key, _| key.starts_with("plain/"));
        found
    };
    // Without codecs even the bytes are the same, those of the padding included.
    assert_eq!(plain(&source), plain(&target));
    assert_eq!(plain(&target).len(), 6);
}

/// A dataset with one variable of strings.
fn one(new: VariableBuilder, lens: &[u64], format: Format) -> Dataset {
    let mut hierarchy = Hierarchy::new(format);
    let names: Vec<String> = (0..lens.len()).map(|d| format!("d{d}")).collect();
    for (name, &len) in names.iter().zip(lens) {
        hierarchy.add_dimension("/", name, len, false).unwrap();
    }
    hierarchy.add_variable("/", new.dimensions(names)).unwrap();
    Dataset::create(memory(), hierarchy, session(2), false).unwrap()
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    prop::sample::select(vec![
        Dtype::vlen_text(),
        Dtype::vlen_bytes(),
        Dtype::parse("|S12").unwrap(),
        Dtype::parse("<U3").unwrap(),
        Dtype::parse(">U3").unwrap(),
    ])
}

/// Shape, chunks, and slabs as (start, count, stride) in each dimension.
type Boxes = (Vec<u64>, Vec<u64>, Vec<Slab>);

fn boxes() -> impl Strategy<Value = Boxes> {
    prop::collection::vec((1u64..8, 1u64..5), 0..4).prop_flat_map(|dimensions| {
        let shape: Vec<u64> = dimensions.iter().map(|d| d.0).collect();
        let chunks: Vec<u64> = dimensions.iter().map(|d| d.1).collect();
        let side = |len: u64| {
            (0..len, 1u64..4).prop_flat_map(move |(start, stride)| {
                (Just(start), 0..=(len - start).div_ceil(stride), Just(stride))
            })
        };
        let sides: Vec<_> = shape.iter().map(|&len| side(len)).collect();
        let slab = sides.prop_map(|sides| {
            let of = |part: fn(&(u64, u64, u64)) -> u64| sides.iter().map(part).collect::<Vec<_>>();
            Slab::new(of(|s| s.0), of(|s| s.1)).with_stride(of(|s| s.2))
        });
        (Just(shape), Just(chunks), prop::collection::vec(slab, 1..4))
    })
}

/// The numbers of a slab's elements in the whole array.
fn positions(shape: &[u64], slab: &Slab) -> Vec<usize> {
    let mut all = vec![0];
    for (dimension, len) in shape.iter().enumerate() {
        let (start, stride) = (slab.start()[dimension], slab.stride()[dimension]);
        let indices: Vec<u64> = (0..slab.count()[dimension]).map(|k| start + k * stride).collect();
        all =
            all.iter().flat_map(|at| indices.iter().map(move |i| at * *len as usize + *i as usize)).collect();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn any_slabs_of_any_strings_round_trip(
        dtype in dtypes(),
        (shape, chunks, slabs) in boxes(),
        texts in prop::collection::vec("[a-zé\u{1f600}]{0,3}", 1..20),
        fortran in any::<bool>(),
    ) {
        let nc_type = dtype.nc_type(false);
        let new = VariableBuilder::of_dtype("s", dtype.clone(), nc_type)
            .chunks(chunks)
            .order(if fortran { Order::F } else { Order::C })
            .filters(vec![serde_json::json!({"id": "zlib", "level": 1})]);
        let new = match nc_type {
            Some(_) => new.fill(NewFill::Value(Value::strings(["none"]))),
            None => new,
        };
        let dataset = one(new, &shape, Format::Zarr2);
        let strings = dataset.strings("s").unwrap();
        let fill: &[u8] = if nc_type.is_some() { b"none" } else { b"" };
        let total: u64 = shape.iter().product();
        let mut model = vec![fill.to_vec(); total as usize];
        let mut next = texts.iter().cycle();
        for slab in &slabs {
            let at = positions(&shape, slab);
            let values: Vec<&[u8]> = at.iter().map(|_| next.next().unwrap().as_bytes()).collect();
            strings.write(slab, &values).unwrap();
            for (at, value) in at.into_iter().zip(values) { model[at] = value.to_vec(); }
        }
        for slab in slabs.iter().chain([&Slab::whole(&shape)]) {
            let read = strings.read(slab).unwrap();
            let wanted: Vec<&[u8]> = positions(&shape, slab).into_iter().map(|at| model[at].as_slice()).collect();
            prop_assert!(read.iter().eq(wanted), "{slab:?}");
        }
        let store = dataset.store().clone();
        dataset.finish().unwrap();
        let reopened = open(store, &session(1));
        prop_assert_eq!(whole(&reopened.strings("s").unwrap()), model);
    }

    #[test]
    fn a_mutated_chunk_is_refused_or_read_as_it_says(
        texts in prop::collection::vec("[a-z]{0,5}", 4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let new = VariableBuilder::of_dtype("s", Dtype::vlen_text(), Some(NcType::String)).chunks([4]);
        let dataset = one(new, &[4], Format::Zarr2);
        let strings = dataset.strings("s").unwrap();
        let slab = Slab::whole(&[4]);
        strings.write(&slab, &texts).unwrap();
        let key = Key::parse("s/0").unwrap();
        let mut stored = dataset.store().read_vec(key, 1 << 20).unwrap().unwrap();
        let at = at.index(stored.len());
        if cut { stored.truncate(at) } else { stored[at] = byte }
        dataset.store().write(key, &stored, WriteMode::Replace).unwrap();
        match strings.read(&slab) {
            Ok(read) => {
                let row: Vec<&[u8]> = read.iter().collect();
                strings.write(&slab, &row).unwrap();
                prop_assert_eq!(dataset.store().read_vec(key, 1 << 20).unwrap().unwrap(), stored);
            }
            Err(error) => prop_assert!(explained(&error).contains("\"s/0\""), "{}", explained(&error)),
        }
    }
}

#[test]
fn what_an_element_cannot_hold_is_refused_unless_it_may_be_cut() {
    let new = VariableBuilder::new("s", NcType::String).string_length(4).chunks([2]);
    let dataset = one(new, &[3], Format::NCZARR);
    let strings = dataset.strings("s").unwrap();
    let slab = Slab::new([1], [2]);
    for (text, words) in [("abcde", "5 bytes"), ("äbcd", "5 bytes"), ("a\0b", "NUL"), ("ab\0", "NUL")] {
        let error = strings.write(&slab, &["fine", text]).unwrap_err();
        let printed = explained(&error);
        assert!(
            printed.contains("\"/s\", element [2]") && printed.contains(words) && printed.contains("cut"),
            "{printed}"
        );
        assert!(matches!(error, DataError::String { .. }));
    }
    assert_eq!(whole(&strings), [b"", b"", b""], "nothing was written");
    let strings = strings.cutting();
    strings.write(&Slab::whole(&[3]), &["abcde", "abcä", "a\0b"]).unwrap();
    assert_eq!(whole(&strings), [b"abcd".as_slice(), b"abc", b"a"]);
    let error = strings.write(&slab, &["one"]).unwrap_err();
    assert!(
        explained(&error).contains("expected 2 strings for the hyperslab, got 1"),
        "{}",
        explained(&error)
    );
    strings.read(&Slab::new([2], [2])).unwrap_err();
}

#[test]
fn elements_that_are_not_strings_are_distinguished_from_strings() {
    for nc_type in [NcType::Char, NcType::Int] {
        let dataset = one(VariableBuilder::new("v", nc_type), &[3], Format::NCZARR);
        let error = dataset.strings("v").unwrap_err();
        assert!(explained(&error).contains(&format!("its elements are {nc_type}, not strings")));
    }
    let text = VariableBuilder::of_dtype("v", Dtype::vlen_text(), Some(NcType::String));
    one(text, &[3], Format::Zarr2).array("v").unwrap_err();
}

#[test]
fn an_invalid_character_code_is_named_with_its_chunk() {
    let dataset = one(
        VariableBuilder::of_dtype("u", Dtype::parse("<U1").unwrap(), None).chunks([2]),
        &[5],
        Format::Zarr2,
    );
    let codes = [u32::from('x'), 0xd800].map(u32::to_le_bytes).concat();
    dataset.store().write(Key::parse("u/1").unwrap(), &codes, WriteMode::Replace).unwrap();
    let error = dataset.strings("u").unwrap().read(&Slab::whole(&[5])).unwrap_err();
    let printed = explained(&error);
    assert!(printed.contains("element [3]") && printed.contains("0xd800 in the chunk [1]"), "{printed}");
}

/// A stream that would unpack to much more than its chunk of strings takes no memory for it.
#[test]
fn counts_and_lengths_are_believed_only_as_far_as_the_bytes_go() {
    let filters = vec![serde_json::json!({"id": "zlib", "level": 9})];
    let new = VariableBuilder::of_dtype("s", Dtype::vlen_bytes(), None).chunks([1 << 28]).filters(filters);
    let dataset = one(new, &[1 << 28], Format::Zarr2);
    let strings = dataset.strings("s").unwrap();
    let claims = [(1u32 << 28).to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    let stored = zlib_of(&claims);
    dataset.store().write(Key::parse("s/0").unwrap(), &stored, WriteMode::Replace).unwrap();
    let printed = explained(&strings.read(&Slab::new([0], [1])).unwrap_err());
    assert!(printed.contains("ends after 8 bytes"), "{printed}");
}

fn zlib_of(bytes: &[u8]) -> Vec<u8> {
    let new = VariableBuilder::new("v", NcType::UByte).chunks([bytes.len() as u64]);
    let new = new.filters(vec![serde_json::json!({"id": "zlib", "level": 9})]);
    let dataset = one(new, &[bytes.len() as u64], Format::Zarr2);
    let array = dataset.array("v").unwrap();
    array.write_bytes(&Slab::whole(array.shape()), ncz::model::Elements::Native, bytes).unwrap();
    dataset.store().read_vec(Key::parse("v/0").unwrap(), 1 << 20).unwrap().unwrap()
}

#[test]
fn strings_of_version_3_are_written_and_read() {
    for encoding in [KeyEncoding::Default, KeyEncoding::V2] {
        let mut hierarchy = Hierarchy::new(Format::Zarr3);
        hierarchy.add_dimension("/", "x", 3, false).unwrap();
        let new = VariableBuilder::of_dtype("s", Dtype::vlen_text(), Some(NcType::String))
            .dimensions(["x"])
            .chunks([2]);
        hierarchy.add_variable("/", new).unwrap().key_encoding = encoding;
        let mut variable = hierarchy.variable("s").unwrap().clone();
        let session = session(1);
        let chain: ChainSpec = spec(r#"{"id":"zstd","level":3}"#);
        session.define(&mut variable, Format::Zarr3, &chain).unwrap();
        *hierarchy.variable_mut("s").unwrap() = variable;
        let store = Arc::new(MemoryStore::new("v3"));
        let dataset = Dataset::create(store.clone(), hierarchy, session.clone(), false).unwrap();
        let texts = ["a", "", "\u{1f600}\0"];
        dataset.strings("s").unwrap().write(&Slab::whole(&[3]), &texts).unwrap();
        dataset.finish().unwrap();
        let again = open(store, &session);
        let variable = again.hierarchy().variable("s").unwrap();
        assert_eq!((variable.key_encoding, variable.dtype.clone()), (encoding, Dtype::vlen_text()));
        assert_eq!(whole(&again.strings("s").unwrap()), texts.map(str::as_bytes));
    }
}

#[test]
fn codes_of_both_byte_orders_are_turned_round() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mark = if order == ByteOrder::Big { '>' } else { '<' };
        let dtype = Dtype::parse(&format!("{mark}U2")).unwrap();
        let dataset = one(VariableBuilder::of_dtype("u", dtype, None), &[1], Format::Zarr2);
        dataset.strings("u").unwrap().write(&Slab::whole(&[1]), &["é"]).unwrap();
        let stored = dataset.store().read_vec(Key::parse("u/0").unwrap(), 100).unwrap().unwrap();
        let code = if order == ByteOrder::Big { 0xe9u32.to_be_bytes() } else { 0xe9u32.to_le_bytes() };
        assert_eq!(stored, [code, [0; 4]].concat());
    }
}

/// All strings of a dataset, variable by variable.
fn all(dataset: &Dataset) -> Vec<(String, Vec<Vec<u8>>)> {
    let readable = dataset.hierarchy().variables().filter(|variable| variable.name != "sharded");
    readable
        .map(|variable| (variable.path.clone(), whole(&dataset.strings(&variable.path).unwrap())))
        .collect()
}

fn fixture(name: &str) -> (tempfile::TempDir, Dataset) {
    let folder = unpack(format!("strings/{name}.zip")).unwrap();
    if name == "v3" {
        std::fs::remove_dir_all(folder.path().join("sharded")).unwrap();
    }
    let dataset = open_file(folder.path());
    (folder, dataset)
}

#[test]
fn copies_keep_strings_of_any_length() {
    for name in ["v2", "v3"] {
        let (_folder, source) = fixture(name);
        let variables: Vec<String> =
            source.hierarchy().variables().map(|variable| variable.path.clone()).collect();
        let with = |codecs: &Codecs, chunk: Option<u64>| {
            let plans = variables.iter().map(|path| {
                let rank = source.hierarchy().variable(path).unwrap().shape.len();
                let chunks = chunk.map(|len| vec![len; rank]);
                (path.clone(), VariablePlan { codecs: codecs.clone(), chunks, ..VariablePlan::default() })
            });
            // The format is said, since unless it is NCZarr is written.
            let format = Some(source.hierarchy().format);
            CopyOptions { variables: plans.collect(), verify: true, format, ..CopyOptions::default() }
        };
        for (options, unchanged) in [
            (with(&Codecs::Keep, None), true),
            (with(&Codecs::Keep, Some(1)), false),
            (with(&Codecs::Sensible, Some(3)), false),
            (with(&Codecs::Spec(spec("[]")), None), false),
        ] {
            let target = memory();
            let summary = copy(&source, target.clone(), &options, &())
                .unwrap_or_else(|error| panic!("{}", explained(&error)));
            let all_pass = summary.variables.iter().all(|variable| variable.unchanged);
            assert!(all_pass || !unchanged, "{name}");
            if unchanged {
                assert_eq!(objects(&*target, false), objects(&**source.store(), false), "{name}");
            }
            assert_eq!(all(&open(target, &session(2))), all(&source), "{name}");
        }
    }
}

#[test]
fn text_of_any_length_gets_the_longest_length_in_nczarr() {
    let new = VariableBuilder::of_dtype("s", Dtype::vlen_text(), Some(NcType::String))
        .chunks([2])
        .fill(NewFill::Value(Value::strings(["nothing"])));
    let source = one(new, &[5], Format::Zarr2);
    let nczarr = CopyOptions { format: Some(Format::NCZARR), verify: true, ..CopyOptions::default() };
    source.strings("s").unwrap().write(&Slab::new([0], [3]), &["", "ä five", "x"]).unwrap();
    let target = memory();
    copy(&source, target.clone(), &nczarr, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
    let copied = open(target.clone(), &session(1));
    let variable = copied.hierarchy().variable("s").unwrap();
    assert_eq!((variable.dtype.text(), variable.nc_type), ("|S7", Some(NcType::String)));
    assert_eq!(whole(&copied.strings("s").unwrap()), whole(&source.strings("s").unwrap()));
    assert!(!objects(&*target, false).contains_key("s/2"), "what was never written stays so");

    source.strings("s").unwrap().write(&Slab::new([4], [1]), &["a\0b"]).unwrap();
    let error = copy(&source, memory(), &nczarr, &()).unwrap_err();
    assert!(explained(&error).contains("contains a NUL"), "{}", explained(&error));
}
