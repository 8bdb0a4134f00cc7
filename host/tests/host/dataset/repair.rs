//! Repairing fixes what known writers do wrong, and stops anywhere without harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz::model::{ByteOrder, ShuffleReading};
use ncz::repair::{Choices, Plan, RepairError, plan};
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{Access, FileStore, Key, MemoryStore, Store, StoreExt, WriteMode};
use ncz::verify::{Remedy, Severity};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{fixtures, unpack};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::helpers::{contents, faults_of, memory, objects, open, session, values};

/// Every object of a folder, in memory.
fn in_memory(folder: &std::path::Path) -> Arc<MemoryStore> {
    let files = FileStore::open(folder, Access::Read).unwrap();
    let store = memory();
    for documents in [true, false] {
        for (key, bytes) in objects(&files, documents) {
            store.write(Key::parse(&key).unwrap(), &bytes, WriteMode::Replace).unwrap();
        }
    }
    store
}

fn get(store: &dyn Store, key: &str) -> Vec<u8> {
    store.read_vec(Key::parse(key).unwrap(), 1 << 24).unwrap().unwrap()
}

fn put(store: &dyn Store, key: &str, bytes: &[u8]) {
    store.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
}

fn planned(store: &Arc<MemoryStore>, choices: &Choices) -> Plan {
    plan(store.clone(), &session(2), choices, &()).unwrap()
}

/// Repairs a store and says which faults it had.
fn repaired(store: &Arc<MemoryStore>, choices: &Choices) -> Vec<&'static str> {
    let plan = planned(store, choices);
    plan.apply().unwrap();
    // A byte order is no longer in doubt.
    let again = planned(store, &Choices { byte_orders: BTreeMap::new(), ..choices.clone() });
    assert!(again.is_empty(), "{again:#?}");
    let mut codes: Vec<_> = plan.steps.iter().map(|step| step.finding.code.id()).collect();
    codes.sort_unstable();
    codes
}

/// Pure Zarr: four integers in chunks of two, with these keys of `.zarray` changed (`null` for absent ones is
/// `"DEL"`).
fn small(changes: &Json, zattrs: Option<&str>) -> Arc<MemoryStore> {
    let mut zarray = json!({"zarr_format": 2, "shape": [4], "dtype": "<i4", "chunks": [2], "fill_value": 0, "order": "C", "compressor": null, "filters": null});
    for (key, value) in changes.as_object().unwrap() {
        zarray[key] = value.clone();
    }
    zarray.as_object_mut().unwrap().retain(|_, value| value != "DEL");
    let store = memory();
    put(&*store, ".zgroup", br#"{"zarr_format": 2}"#);
    put(&*store, "v/.zarray", zarray.to_string().as_bytes());
    if let Some(zattrs) = zattrs {
        put(&*store, "v/.zattrs", zattrs.as_bytes());
    }
    store
}

fn zarray(store: &dyn Store) -> Json {
    serde_json::from_slice(&get(store, "v/.zarray")).unwrap()
}

#[test]
fn each_known_fault_of_an_array_is_repaired_to_what_it_means() {
    let shuffle = |size: Json| json!([{"id": "shuffle", "elementsize": size}]);
    let zlib = json!({"id": "zlib", "level": 1});
    for (changes, code, key, wanted) in [
        (json!({"fill_value": [7]}), "fill-list", "fill_value", json!(7)),
        (json!({"fill_value": "DEL"}), "fill-missing", "fill_value", Json::Null),
        (json!({"dtype": "|S3", "fill_value": 0}), "fill-text-zero", "fill_value", Json::Null),
        (json!({"dtype": "<f4", "fill_value": "nan"}), "fill-word", "fill_value", json!("NaN")),
        (json!({"dtype": "<f8", "fill_value": "-inf"}), "fill-word", "fill_value", json!("-Infinity")),
        (
            json!({"filters": shuffle(json!(0)), "compressor": zlib}),
            "shuffle-size-zero",
            "filters",
            shuffle(json!(4)),
        ),
        (
            json!({"filters": shuffle(json!("4")), "compressor": zlib}),
            "shuffle-size-text",
            "filters",
            shuffle(json!(4)),
        ),
        (json!({"compressor": {"id": "zlib"}}), "zlib-level", "compressor", zlib.clone()),
        (
            json!({"compressor": {"id": "zlib", "level": -1}}),
            "zlib-level",
            "compressor",
            json!({"id": "zlib", "level": 6}),
        ),
        (
            json!({"compressor": {"id": "zstd", "level": 3, "checksum": false}}),
            "zstd-checksum-key",
            "compressor",
            json!({"id": "zstd", "level": 3}),
        ),
    ] {
        let store = small(&changes, None);
        assert_eq!(repaired(&store, &Choices::default()), [code], "{changes}");
        assert_eq!(zarray(&*store)[key], wanted, "{changes}");
        let dataset = open(store, &session(1));
        assert_eq!(dataset.hierarchy().unreadable().count(), 0, "{changes}");
        dataset.array("/v").unwrap();
    }
}

#[test]
fn what_is_in_order_stays_byte_for_byte() {
    for changes in [
        json!({}),
        json!({"filters": [{"id": "shuffle", "elementsize": 2}], "compressor": {"id": "zlib", "level": 9}}),
        json!({"filters": [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 0}]}),
        json!({"dtype": "|S3", "fill_value": ""}),
        json!({"dtype": "<f8", "fill_value": "NaN"}),
        json!({"my_key": [1.0, 2e300]}),
    ] {
        let store = small(&changes, Some(r#"{"a": NaN, "b": "nan", "c": [1, 2]}"#));
        let before = objects(&*store, true);
        assert_eq!(repaired(&store, &Choices::default()), [""; 0], "{changes}");
        assert_eq!(objects(&*store, true), before, "{changes}");
    }
}

#[test]
fn a_byte_order_is_taken_only_from_the_user() {
    let store = small(&json!({"dtype": "|i4"}), None);
    put(&*store, "v/0", &[1, 0, 0, 0, 2, 0, 0, 0]);
    let left = planned(&store, &Choices::default()).left;
    assert_eq!(left[0].remedy, Some(Remedy::ChooseByteOrder), "{left:#?}");
    for (order, first) in [(ByteOrder::Little, 1i32), (ByteOrder::Big, 1 << 24)] {
        let store = in_memory_copy(&store);
        let choices = Choices { byte_orders: [("/v".to_owned(), order)].into(), ..Choices::default() };
        assert_eq!(repaired(&store, &choices), ["byte-order-missing"]);
        let array = open(store, &session(1)).array("/v").unwrap();
        assert_eq!(values(&array)[..4], first.to_ne_bytes());
    }
    let choices = Choices { byte_orders: [("/v".to_owned(), ByteOrder::Big)].into(), ..Choices::default() };
    let error = plan(small(&json!({}), None), &session(1), &choices, &()).unwrap_err();
    assert!(matches!(error, RepairError::NoChoice { path } if path == "/v"));
}

#[test]
fn what_netcdf_c_4_9_2_called_big_endian_and_stored_otherwise_is_read_right_when_the_user_says_so() {
    let newer = unpack("netcdf-c-4.10.2/nczarr/endian.zip").unwrap();
    let newer = super::helpers::open_file(newer.path());
    let folder = unpack("netcdf-c-4.9.2/nczarr/endian.zip").unwrap();
    let paths = ["/big", "/dbig", "/sbig"];
    let of = |order| Choices {
        byte_orders: paths.iter().map(|path| ((*path).to_owned(), order)).collect(),
        ..Choices::default()
    };
    for (order, right) in [(ByteOrder::Little, true), (ByteOrder::Big, false)] {
        let store = in_memory(folder.path());
        let plan = planned(&store, &of(order));
        assert_eq!(plan.is_empty(), order == ByteOrder::Big);
        plan.apply().unwrap();
        let repaired = open(store, &session(1));
        let same = paths
            .iter()
            .all(|path| values(&repaired.array(path).unwrap()) == values(&newer.array(path).unwrap()));
        assert_eq!(same, right, "{order:?}");
    }
}

fn in_memory_copy(store: &Arc<MemoryStore>) -> Arc<MemoryStore> {
    let copy = memory();
    for documents in [true, false] {
        for (key, bytes) in objects(&**store, documents) {
            put(&*copy, &key, &bytes);
        }
    }
    copy
}

#[test]
fn a_disputed_shuffle_is_settled_in_place_by_the_size_of_the_type_only() {
    let store = in_memory(&fixtures().join("ocean.nczarr"));
    let key = "model/salinity/.zarray";
    let text =
        String::from_utf8(get(&*store, key)).unwrap().replace(r#""elementsize": 0"#, r#""elementsize": 2"#);
    put(&*store, key, text.as_bytes());
    let of = |shuffle| planned(&store, &Choices { shuffle, ..Choices::default() });
    let disputed = |plan: &Plan| {
        let found = plan.left.iter().find(|finding| finding.code.id() == "shuffle-size-disputed");
        found.map(|finding| finding.remedy)
    };
    assert_eq!(disputed(&of(ShuffleReading::Refuse)), Some(Some(Remedy::ChooseShuffleSize)));
    assert!(
        !of(ShuffleReading::AsStored)
            .steps
            .iter()
            .any(|step| step.finding.code.id() == "shuffle-size-disputed")
    );
    let plan = of(ShuffleReading::TypeSize);
    assert_eq!(disputed(&plan), None);
    plan.apply().unwrap();
    let ocean = ncz_test_support::fixtures().join("ocean.nczarr");
    assert_eq!(contents(&open(store, &session(1))), contents(&super::helpers::open_file(&ocean)));
}

#[test]
fn texts_that_netcdf_c_wrote_as_bare_words_are_texts_again() {
    let store = in_memory(&fixtures().join("ocean.nczarr"));
    let text = String::from_utf8(get(&*store, "lat/.zattrs")).unwrap();
    let wanted = contents(&open(store.clone(), &session(1)));
    for word in ["nan", "-inf", "0x10", "5.", "+7", "1e"] {
        let broken = text.replace("\"degrees_north\"", word);
        assert_ne!(broken, text);
        put(&*store, "lat/.zattrs", broken.as_bytes());
        let dataset = open(store.clone(), &session(1));
        assert_eq!(dataset.hierarchy().unreadable().count(), 1, "{word}");
        let plan = planned(&store, &Choices::default());
        assert!(
            plan.steps.iter().any(|step| step.finding.code.id() == "document-words"),
            "{word}: {plan:#?}"
        );
        plan.apply().unwrap();
        let got = contents(&open(store.clone(), &session(1)));
        let shown = |contents: &BTreeMap<String, super::helpers::Content>| {
            format!("{:?}", contents.get("/lat")).replace("degrees_north", word)
        };
        // As bytes, which is how text is shown.
        let as_bytes = |text: &str| format!("{:?}", text.as_bytes()).trim_matches(['[', ']']).to_owned();
        let wanted = shown(&wanted).replace(&as_bytes("degrees_north"), &as_bytes(word));
        assert_eq!(shown(&got), wanted);
    }
}

#[test]
fn attributes_that_netcdf_c_refuses_get_a_type_that_it_opens() {
    let store = in_memory(&fixtures().join("ocean.nczarr"));
    let mut zattrs: Json = serde_json::from_slice(&get(&*store, "lat/.zattrs")).unwrap();
    let object = json!({"k": [1, 2.5]});
    zattrs["object"] = object.clone();
    zattrs["number"] = json!(17);
    zattrs["none"] = json!([]);
    zattrs["mixed"] = json!([1, "a"]);
    let types = &mut zattrs["_nczarr_attr"]["types"];
    types["object"] = json!("|J0");
    types["number"] = json!("|J0");
    put(&*store, "lat/.zattrs", zattrs.to_string().as_bytes());
    let shown =
        |store: &Arc<MemoryStore>| format!("{:?}", contents(&open(store.clone(), &session(1))).get("/lat"));
    let before = shown(&store);
    planned(&store, &Choices::default()).apply().unwrap();
    assert_eq!(shown(&store), before, "nothing looks otherwise here");
    let after: Json = serde_json::from_slice(&get(&*store, "lat/.zattrs")).unwrap();
    assert_eq!((&after["object"], &after["number"]), (&object, &json!("17")));
    for name in ["object", "number", "none", "mixed"] {
        assert_eq!(after["_nczarr_attr"]["types"][name], ">S1", "{name}");
    }
    // Pure Zarr cannot store a type.
    let store = small(&json!({}), Some(r#"{"none": []}"#));
    let plan = planned(&store, &Choices::default());
    assert!(plan.is_empty());
    assert_eq!(plan.left[0].code.id(), "attribute-refused");
    assert_eq!(plan.left[0].remedy, None);
}

#[test]
fn stale_consolidated_metadata_are_written_anew() {
    let folder = unpack("zarr-python/v2-consolidated.zip").unwrap();
    let store = in_memory(folder.path());
    assert_eq!(repaired(&store, &Choices::default()), [""; 0]);
    let key = objects(&*store, true).into_keys().find(|key| key.ends_with(".zarray")).unwrap();
    let mut zarray: Json = serde_json::from_slice(&get(&*store, &key)).unwrap();
    let longer = zarray["shape"][0].as_u64().unwrap() + 5;
    zarray["shape"][0] = json!(longer);
    put(&*store, &key, zarray.to_string().as_bytes());
    assert_eq!(repaired(&store, &Choices::default()), ["consolidated-stale"]);
    let zmetadata: Json = serde_json::from_slice(&get(&*store, ".zmetadata")).unwrap();
    assert_eq!(zmetadata["metadata"][key.as_str()]["shape"][0], json!(longer));
    for broken in [&b"{\"metadata\": 5}"[..], b"{", b"{}"] {
        put(&*store, ".zmetadata", broken);
        planned(&store, &Choices::default()).apply().unwrap();
        assert_eq!(
            serde_json::from_slice::<Json>(&get(&*store, ".zmetadata")).unwrap()["metadata"],
            zmetadata["metadata"]
        );
    }
}

#[test]
fn metadata_that_are_only_consolidated_are_repaired_where_they_are() {
    let store = memory();
    let inner = small(&json!({"fill_value": [3]}), None);
    let documents: BTreeMap<String, Json> = objects(&*inner, true)
        .into_iter()
        .map(|(key, bytes)| (key, serde_json::from_slice(&bytes).unwrap()))
        .collect();
    let zmetadata = json!({"zarr_consolidated_format": 1, "metadata": documents});
    put(&*store, ".zmetadata", zmetadata.to_string().as_bytes());
    assert_eq!(repaired(&store, &Choices::default()), ["fill-list"]);
    let after: Json = serde_json::from_slice(&get(&*store, ".zmetadata")).unwrap();
    assert_eq!(after["metadata"]["v/.zarray"]["fill_value"], 3);
    assert_eq!(objects(&*store, true).len(), 1);
}

/// The content of a file when netcdf-c writes `new` over `old` in place.
fn overwritten(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = new.to_vec();
    bytes.extend(old.get(new.len()..).unwrap_or_default());
    bytes
}

#[test]
fn documents_with_the_end_of_an_older_one_are_cut_and_open_again() {
    let ocean = fixtures().join("ocean.nczarr");
    let whole = in_memory(&ocean);
    for key in ["lat/.zattrs", ".zattrs", "lat/.zarray"] {
        let new = get(&*whole, key);
        let mut older: Json = serde_json::from_slice(&new).unwrap();
        older["history"] = json!("a longer text, with a } and a \" in it, ".repeat(9));
        older["zz"] = json!({"k": [1, {"l": 2}]});
        let old = older.to_string().into_bytes();
        assert!(old.len() > new.len());
        let store = in_memory(&ocean);
        put(&*store, key, &overwritten(&old, &new));
        let closed = Dataset::open(store.clone(), session(1), &ReadOptions::default());
        assert!(closed.is_err() || closed.unwrap().hierarchy().unreadable().count() == 1, "{key}");
        let plan = planned(&store, &Choices::default());
        let tail: Vec<_> =
            plan.steps.iter().filter(|step| step.finding.code.id() == "document-tail").collect();
        assert_eq!(tail.len(), 1, "{key}: {plan:#?}");
        assert_eq!(tail[0].finding.severity, Severity::Error);
        plan.apply().unwrap();
        assert_eq!(contents(&open(store, &session(1))), contents(&open(whole.clone(), &session(1))), "{key}");
    }
}

#[test]
fn bytes_after_a_document_that_are_not_an_older_end_are_kept() {
    for tail in ["{\"a\": 1}", "garbage", "]", "}}{"] {
        let store = small(&json!({}), None);
        let mut bytes = get(&*store, "v/.zarray");
        bytes.extend(tail.as_bytes());
        put(&*store, "v/.zarray", &bytes);
        let plan = planned(&store, &Choices::default());
        assert!(plan.is_empty(), "{tail}: {plan:#?}");
        assert!(plan.left.iter().any(|finding| finding.code.id() == "document-damaged"), "{tail}: {plan:#?}");
    }
}

#[test]
fn chunks_with_the_end_of_an_older_one_are_cut_if_the_codec_finds_their_end() {
    for (filters, repairable) in [
        (json!([]), true),
        (json!([{"id": "zlib", "level": 4}]), true),
        (json!([{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 4}]), true),
        (json!([{"id": "bz2", "level": 4}]), true),
        (json!([{"id": "zstd", "level": 4}]), true),
        (json!([{"id": "gzip", "level": 4}]), true),
        (json!([{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}]), true),
        // The checksum is at the end, wherever that is.
        (json!([{"id": "zlib", "level": 4}, {"id": "fletcher32"}]), false),
    ] {
        let store = small(&json!({"shape": [4000], "chunks": [2000]}), None);
        let mut document = zarray(&*store);
        let (last, first) = filters
            .as_array()
            .unwrap()
            .split_last()
            .map_or((Json::Null, Json::Null), |(last, first)| (last.clone(), json!(first)));
        document["filters"] = first;
        document["compressor"] = last;
        put(&*store, "v/.zarray", document.to_string().as_bytes());
        let array = open(store.clone(), &session(1)).array("/v").unwrap();
        let data: Vec<u8> = (0..4000i32).flat_map(|i| (i * i % 977).to_ne_bytes()).collect();
        array.write_bytes(&ncz::model::Slab::whole(&[4000]), ncz::model::Elements::Native, &data).unwrap();
        let sound = get(&*store, "v/1");
        for tail in [&b"\x01"[..], b"\x78\x9c\x01", &[0; 3000], &sound[sound.len() / 2..]] {
            put(&*store, "v/1", &[&sound, tail].concat());
            assert!(
                array
                    .read_bytes(
                        &ncz::model::Slab::whole(&[4000]),
                        ncz::model::Elements::Native,
                        &mut vec![0; 16000]
                    )
                    .is_err()
            );
            let plan = planned(&store, &Choices::default());
            assert_eq!(plan.steps.len(), usize::from(repairable), "{filters}: {plan:#?}");
            plan.apply().unwrap();
            assert_eq!(get(&*store, "v/1") == sound, repairable, "{filters}");
            if !repairable {
                assert_eq!(plan.left.iter().filter(|finding| finding.chunk.is_some()).count(), 1);
            }
        }
    }
}

/// A dataset with one fault of each kind in chunks, documents and consolidated metadata.
fn faulty() -> Arc<MemoryStore> {
    let ocean = fixtures().join("ocean.nczarr");
    let store = in_memory(&ocean);
    for key in ["lat/0", "model/salinity/1.0.0"] {
        let mut bytes = get(&*store, key);
        bytes.extend(b"the rest");
        put(&*store, key, &bytes);
    }
    let documents: BTreeMap<String, Json> = objects(&*store, true)
        .into_iter()
        .map(|(key, bytes)| (key, serde_json::from_slice(&bytes).unwrap()))
        .collect();
    let mut zmetadata = json!({"metadata": documents, "zarr_consolidated_format": 1});
    zmetadata["metadata"]["lat/.zattrs"] = json!({});
    put(&*store, ".zmetadata", zmetadata.to_string().as_bytes());
    let key = "lon/.zattrs";
    let old = String::from_utf8(get(&*store, key)).unwrap().replacen('{', r#"{"older": "text", "#, 1);
    let new = get(&*store, key);
    put(&*store, key, &overwritten(old.as_bytes(), &new));
    store
}

/// What can be read of a dataset: the bytes of each variable that can.
fn readable(store: Arc<dyn Store>) -> BTreeMap<String, Vec<u8>> {
    let Ok(dataset) = Dataset::open(store, session(1), &ReadOptions::default()) else {
        return BTreeMap::new();
    };
    let paths: Vec<String> = dataset.hierarchy().variables().map(|variable| variable.path.clone()).collect();
    let read = |path: String| {
        let array = dataset.array(&path).ok()?;
        let slab = ncz::model::Slab::whole(array.shape());
        let mut out = vec![0; slab.elements().unwrap() as usize * array.dtype().size()];
        array.read_bytes(&slab, ncz::model::Elements::Native, &mut out).ok()?;
        Some((path, out))
    };
    paths.into_iter().filter_map(read).collect()
}

#[test]
fn whichever_operation_fails_every_variable_reads_as_before_or_better() {
    let whole = readable(Arc::new(FileStore::open(fixtures().join("ocean.nczarr"), Access::Read).unwrap()));
    let before = readable(faulty());
    assert_eq!(before.len() + 3, whole.len(), "{:?}", before.keys());
    let original = faulty();
    let attempt = |fault| {
        let store = in_memory_copy(&original);
        let watched = Arc::new(Faulty::new(store.clone(), fault));
        let result =
            plan(watched.clone(), &session(1), &Choices::default(), &()).and_then(|plan| plan.apply());
        (store, result, watched.operations())
    };
    let (store, result, operations) = attempt(Fault::Never);
    result.unwrap();
    assert_eq!(readable(store), whole);
    assert!(operations > 50);
    for fault in faults_of(operations, 0) {
        let (store, _, _) = attempt(fault);
        let after = readable(store.clone());
        for (path, bytes) in &after {
            assert!(whole.get(path) == Some(bytes), "{fault:?}: {path}");
        }
        assert!(before.keys().all(|path| after.contains_key(path)), "{fault:?}: {:?}", after.keys());
        // And it can be carried to its end.
        planned(&store, &Choices::default()).apply().unwrap();
        assert_eq!(readable(store), whole, "{fault:?}");
    }
}

#[test]
fn an_object_that_changed_since_the_plan_was_made_stops_it() {
    for (key, code) in [("lat/.zarray", "fill-list"), ("lat/0", "chunk-tail")] {
        let store = faulty();
        if code == "fill-list" {
            let text = String::from_utf8(get(&*store, key)).unwrap();
            put(
                &*store,
                key,
                text.replacen("\"fill_value\": ", "\"fill_value\": [", 1)
                    .replacen(", \"order\"", "], \"order\"", 1)
                    .as_bytes(),
            );
        }
        let plan = planned(&store, &Choices::default());
        assert!(plan.steps.iter().any(|step| step.finding.code.id() == code), "{plan:#?}");
        let other = [&get(&*store, key)[..], b" "].concat();
        put(&*store, key, &other);
        let error = plan.apply().unwrap_err();
        assert!(matches!(&error, RepairError::Changed { key: named } if named == key), "{error:?}");
        assert_eq!(get(&*store, key), other);
    }
}

#[test]
fn the_view_of_a_plan_is_what_the_store_becomes() {
    let store = faulty();
    let plan = planned(&store, &Choices::default());
    let seen = contents(&open(plan.view(), &session(2)));
    let view = plan.view();
    let read = |store: &dyn Store| {
        let mut all = objects(store, true);
        all.extend(objects(store, false));
        all
    };
    let wanted = read(&*view);
    assert!(view.write(Key::parse("x").unwrap(), b"", WriteMode::Replace).is_err());
    plan.apply().unwrap();
    assert_eq!(read(&*store), wanted);
    assert_eq!(contents(&open(store, &session(2))), seen);
}

proptest! {
    #[test]
    fn any_document_written_over_a_longer_one_is_found_again(
        new in prop::collection::btree_map("[a-z\"}{\\\\]{1,6}", prop_oneof![any::<i32>().prop_map(|n| json!(n)), ".{0,8}".prop_map(|text| json!(text))], 0..4),
        old in prop::collection::btree_map("[a-z\"}{\\\\]{1,6}", prop_oneof![any::<i32>().prop_map(|n| json!([n])), ".{0,20}".prop_map(|text| json!({"k": text}))], 1..8),
    ) {
        let (new, old) = (json!(new).to_string(), json!(old).to_string());
        let bytes = overwritten(old.as_bytes(), new.as_bytes());
        let store = small(&json!({}), None);
        put(&*store, "v/.zattrs", &bytes);
        let plan = planned(&store, &Choices::default());
        plan.apply().unwrap();
        let after: Json = serde_json::from_slice(&get(&*store, "v/.zattrs")).unwrap();
        prop_assert_eq!(after, serde_json::from_str::<Json>(&new).unwrap());
    }
}
