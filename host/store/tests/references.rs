//! References to the objects of other stores: they read as the objects themselves would.
#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ncz_store::references::{OpenTarget, ReferenceStore};
use ncz_store::testing::{Counting, Remote};
use ncz_store::{
    Depth, Key, KeyBuf, MemoryStore, Prefix, ReadRange, ReadRequest, Store, StoreError, StoreExt, WriteMode,
};
use proptest::prelude::*;

/// Opens keys of one store.
#[derive(Debug)]
struct Files(Arc<dyn Store>);

impl OpenTarget for Files {
    fn open(&self, url: &str) -> Result<(Arc<dyn Store>, KeyBuf), StoreError> {
        Ok((Arc::clone(&self.0), KeyBuf::parse(url)?))
    }
}

fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}

/// A store with the file `a.nc`.
fn files(content: &[u8]) -> Arc<MemoryStore> {
    let store = MemoryStore::new("files");
    store.write(key("a.nc"), content, WriteMode::Replace).unwrap();
    Arc::new(store)
}

fn open(json: &str, target: Option<&str>) -> Result<ReferenceStore, StoreError> {
    ReferenceStore::open("refs.json", json.as_bytes(), target, Arc::new(Files(files(b"0123456789"))))
}

fn text(store: &ReferenceStore, name: &str) -> Option<String> {
    store.read_vec(key(name), 1000).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn the_version_of_a_reference_is_that_of_its_object_and_of_its_range() {
    let stamps = |range: &str, content: &[u8]| {
        let json = format!(r#"{{"v/0": ["a.nc", {range}], "v/1": ["a.nc"], "v/2": "base64:AAEC"}}"#);
        let store = ReferenceStore::open("refs.json", json.as_bytes(), None, Arc::new(Files(files(content))))
            .unwrap();
        let keys = ["v/0", "v/1", "v/2", "v/3"].map(key);
        let stamps = store.stamps(&keys).unwrap();
        for (key, stamp) in keys.iter().zip(&stamps) {
            assert_eq!(store.stamp(*key).unwrap(), *stamp);
            assert_eq!(store.len(*key).unwrap(), stamp.as_ref().map(|stamp| stamp.length));
        }
        stamps
    };
    let first = stamps("2, 3", b"0123456789");
    assert_eq!(first, stamps("2, 3", b"0123456789"));
    assert!(first[0].is_some() && first[3].is_none());
    // Another range, and another object.
    let same = |other: &[_]| first.iter().zip(other).map(|(one, other)| one == other).collect::<Vec<_>>();
    assert_eq!(same(&stamps("3, 3", b"0123456789")), [false, true, true, true]);
    assert_eq!(same(&stamps("2, 3", b"0123456789ab")), [false, false, true, true]);
    // An object that is gone is not a missing chunk.
    let gone =
        ReferenceStore::open("refs.json", br#"{"v/0": ["b.nc", 0, 1]}"#, None, Arc::new(Files(files(b""))));
    assert!(matches!(gone.unwrap().stamp(key("v/0")), Err(StoreError::NoObject { .. })));
}

#[test]
fn every_form_of_a_reference_is_read() {
    let store = open(
        r#"{"version": 1, "templates": {"u": "a", "end": "nc"}, "refs": {
            ".zgroup": "{\"zarr_format\": 2}", "v/.zattrs": {"b": 1.50, "a": [1, 2]}, "v/0": ["{{u}}.{{end}}", 2, 3],
            "v/1": ["a.nc"], "v/2": "base64:AAEC", "v/3": [null, 9, 1], "v/4": "", "v/5": ["a.nc", 10, 0]}}"#,
        Some("a.nc"),
    )
    .unwrap();
    for (name, want) in [
        (".zgroup", "{\"zarr_format\": 2}"),
        ("v/.zattrs", "{\"b\": 1.50, \"a\": [1, 2]}"),
        ("v/0", "234"),
        ("v/1", "0123456789"),
        ("v/2", "\0\u{1}\u{2}"),
        ("v/3", "9"),
        ("v/4", ""),
        ("v/5", ""),
    ] {
        assert_eq!(text(&store, name).as_deref(), Some(want), "{name}");
        assert_eq!(store.len(key(name)).unwrap(), Some(want.len() as u64));
    }
    assert_eq!(text(&store, "v/6"), None);
    let listing = store.list(Prefix::ROOT, Depth::All, 100).unwrap();
    assert_eq!(listing.entries.len(), 9, "the directory too: {listing:?}");
    assert!(matches!(store.write(key("v/0"), b"", WriteMode::Replace), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.delete(key("v/0")), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn version_0_has_the_references_at_its_top() {
    let store = open(r#"{".zgroup": "{}", "v/0": ["a.nc", 0, 1]}"#, None).unwrap();
    assert_eq!((text(&store, ".zgroup").as_deref(), text(&store, "v/0").as_deref()), (Some("{}"), Some("0")));
}

#[test]
fn rules_make_references() {
    let json = r#"{"version": 1, "templates": {"u": "a.nc"}, "refs": {}, "gen": [
        {"key": "v/{{i}}.{{j}}", "url": "{{u}}", "offset": "{{i * 3 + j}}", "length": "1",
         "dimensions": {"i": {"stop": 3}, "j": [0, 2]}},
        {"key": "{{name}}/0", "url": "{{u}}", "dimensions": {"name": ["p", "q"]}}]}"#;
    let store = open(json, None).unwrap();
    for (name, want) in [("v/0.0", "0"), ("v/1.2", "5"), ("v/2.2", "8"), ("p/0", "0123456789")] {
        assert_eq!(text(&store, name).as_deref(), Some(want), "{name}");
    }
    assert_eq!(store.list(Prefix::ROOT, Depth::All, 100).unwrap().entries.len(), 8 + 3);
}

#[test]
fn what_is_not_supported_or_contradicts_itself_is_refused_by_name() {
    for (json, want) in [
        ("[]", "object of references"),
        ("{", "EOF"),
        (r#"{"version": 2, "refs": {}}"#, "version is 2"),
        (r#"{"version": 1, "refs": {"v/0": ["a", 1]}}"#, "\"v/0\""),
        (r#"{"version": 1, "refs": {"v/0": ["a", -1, 2]}}"#, "\"v/0\""),
        (r#"{"version": 1, "refs": {"v/0": ["a", 18446744073709551615, 2]}}"#, "64 bits"),
        (r#"{"version": 1, "refs": {"v/0": 7}}"#, "\"v/0\""),
        (r#"{"version": 1, "refs": {"v/0": "base64:*"}}"#, "Base64"),
        (r#"{"version": 1, "refs": {"v/0": ["{{u}}"]}}"#, "no template or dimension \"u\""),
        (r#"{"version": 1, "templates": {"u": "{{c}}"}, "refs": {}}"#, "template \"u\""),
        (
            r#"{"version": 1, "gen": [{"key": "{{i|f}}", "url": "a", "dimensions": {"i": [1]}}]}"#,
            "not supported",
        ),
        (
            r#"{"version": 1, "gen": [{"key": "k", "url": "a", "offset": 1, "dimensions": {}}]}"#,
            "only one of",
        ),
        (
            r#"{"version": 1, "gen": [{"key": "{{i}}", "url": "a", "dimensions": {"i": {"stop": 1000000000}}}]}"#,
            "more than",
        ),
    ] {
        let error = open(json, None).unwrap_err();
        assert!(matches!(error, StoreError::BadReferences { .. }), "{error:?}");
        assert!(error.to_string().contains(want), "{json}: {error}");
    }
}

#[test]
fn an_object_that_does_not_exist_is_an_error_and_not_a_missing_chunk() {
    let store = open(
        r#"{"version": 1, "refs": {"v/0": ["b.nc", 0, 1], "v/1": ["b.nc"], "v/2": ["a.nc", 5, 50]}}"#,
        None,
    );
    let store = store.unwrap();
    let mut out = Vec::new();
    for name in ["v/0", "v/1"] {
        let error = store.read(key(name), ReadRange::All, 100, &mut out).unwrap_err();
        assert!(
            matches!(&error, StoreError::NoObject { at } if at.key.as_deref() == Some("b.nc")),
            "{error:?}"
        );
        assert!(matches!(store.read_into(key(name), 0, &mut [0; 1]), Err(StoreError::NoObject { .. })));
    }
    let error = store.read(key("v/2"), ReadRange::All, 100, &mut out).unwrap_err();
    assert!(matches!(error, StoreError::OutOfRange { object_len: 10, .. }), "{error:?}");
    assert!(matches!(store.read_into(key("v/2"), 0, &mut [0; 50]), Err(StoreError::OutOfRange { .. })));
    let without = open(r#"{"version": 1, "refs": {"v/0": [null, 0, 1]}}"#, None).unwrap();
    let error = without.read(key("v/0"), ReadRange::All, 100, &mut out).unwrap_err();
    assert!(error.to_string().contains("give the target"), "{error}");
}

#[test]
fn many_reads_are_handed_on_together() {
    let files = Arc::new(Remote::new(Counting::new(MemoryStore::new("files"))));
    files.write(key("a.nc"), b"0123456789", WriteMode::Replace).unwrap();
    let json = br#"{"version": 1, "refs": {"v/0": ["a.nc", 0, 2], "v/1": ["a.nc", 4, 2], "v/2": "in", "v/3": ["a.nc", 8, 2]}}"#;
    let store = ReferenceStore::open("refs.json", json, None, Arc::new(Files(files.clone()))).unwrap();
    assert_eq!(store.capabilities().in_flight, files.capabilities().in_flight);
    let keys = ["v/0", "v/1", "v/2", "v/3", "v/4"];
    let requests = keys.map(|name| ReadRequest { key: key(name), range: ReadRange::All, max_len: 100 });
    let found = Mutex::new(vec![None; keys.len()]);
    store.read_many(&requests, &|index, answer| {
        found.lock().unwrap()[index] = Some(answer.unwrap().map(<[u8]>::to_vec));
        ControlFlow::Continue(())
    });
    let want = [Some("01"), Some("45"), Some("in"), Some("89"), None];
    let want: Vec<_> = want.iter().map(|text| Some(text.map(|text| text.as_bytes().to_vec()))).collect();
    assert_eq!(*found.lock().unwrap(), want);
    assert_eq!(files.inner().counts().reads, 3);
}

proptest! {
    /// The same reads of references, and of a store that holds the objects themselves.
    #[test]
    fn references_read_as_objects_do(
        content in prop::collection::vec(any::<u8>(), 0..40),
        forms in prop::collection::vec((0u8..3, 0usize..40, 0usize..40), 1..6),
        range in prop_oneof![
            Just(ReadRange::All),
            (0u64..50).prop_map(ReadRange::From),
            (0u64..50, 0u64..50).prop_map(|(offset, len)| ReadRange::Bounded { offset, len }),
            (0u64..50).prop_map(ReadRange::Suffix),
        ],
        max_len in 0u64..40,
        room in 0usize..50,
        offset in 0u64..50,
    ) {
        let (mut json, plain) = (serde_json::Map::new(), MemoryStore::new("plain"));
        for (number, (form, start, len)) in forms.iter().enumerate() {
            let name = format!("v/{number}");
            let start = (*start).min(content.len());
            let end = (start + len).min(content.len());
            let (value, bytes) = match form {
                0 => (serde_json::json!(["a.nc"]), &content[..]),
                1 => (serde_json::json!(["a.nc", start, end - start]), &content[start..end]),
                _ => (serde_json::json!("text"), &b"text"[..]),
            };
            plain.write(key(&name), bytes, WriteMode::Replace).unwrap();
            json.insert(name, value);
        }
        let json = serde_json::json!({"version": 1, "refs": json}).to_string();
        let store = ReferenceStore::open("r", json.as_bytes(), None, Arc::new(Files(files(&content)))).unwrap();
        let listed = |store: &dyn Store, depth| store.list(Prefix::ROOT, depth, 100).unwrap();
        prop_assert_eq!(listed(&store, Depth::All), listed(&plain, Depth::All));
        prop_assert_eq!(listed(&store, Depth::One), listed(&plain, Depth::One));
        for number in 0..=forms.len() {
            let name = format!("v/{number}");
            let (mut one, mut other) = (vec![1], vec![2]);
            let found = store.read(key(&name), range, max_len, &mut one);
            let want = plain.read(key(&name), range, max_len, &mut other);
            prop_assert_eq!(found.is_ok(), want.is_ok());
            if let (Ok(found), Ok(want)) = (&found, &want) { prop_assert_eq!(found, want); }
            if let (Err(found), Err(want)) = (&found, &want) {
                prop_assert_eq!(std::mem::discriminant(found), std::mem::discriminant(want));
            }
            prop_assert_eq!(&one, &other);
            let (mut one, mut other) = (vec![0; room], vec![0; room]);
            prop_assert_eq!(
                store.read_into(key(&name), offset, &mut one).unwrap(),
                plain.read_into(key(&name), offset, &mut other).unwrap()
            );
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(
                store.read_end_into(key(&name), &mut one).unwrap(),
                plain.read_end_into(key(&name), &mut other).unwrap()
            );
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(store.len(key(&name)).unwrap(), plain.len(key(&name)).unwrap());
        }
    }

    #[test]
    fn any_text_is_references_or_refused(text in "[\\[\\]{}\",:a0-9 ]{0,60}|\\{\"version\":1,\"(refs|gen|templates)\":[\\[\\]{}\",:a0-9 ]{0,40}") {
        let _ = open(&text, None);
    }
}
