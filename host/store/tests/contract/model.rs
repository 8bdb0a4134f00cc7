//! Any sequence of operations does on a store what it does on a map.

use std::collections::{BTreeMap, BTreeSet};

use ncz_store::{Depth, Prefix, ReadRange, StoreError, StoreExt, WriteMode};
use proptest::prelude::*;

use super::objects::keys;
use super::stores::{key, sequences, stores};

#[derive(Debug, Clone)]
enum Operation {
    Write(String, Vec<u8>, bool),
    Delete(String),
    Read(String, ReadRange),
    List(String, bool),
    Publish,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sequences()))]

    #[test]
    fn every_store_behaves_like_a_map(operations in prop::collection::vec(operation(), 1..40)) {
        for fixture in stores() {
            let store = &*fixture.store;
            let mut model: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            for operation in &operations {
                let context = || format!("{} {operation:?} on {model:?}", fixture.name);
                match operation {
                    Operation::Write(text, bytes, new) => {
                        let mode = if *new { WriteMode::CreateNew } else { WriteMode::Replace };
                        let conflict = store.capabilities().key_conflicts
                            && model.keys().any(|k| below(k, text) || below(text, k));
                        let answer = store.write(key(text), bytes, mode);
                        match answer {
                            Err(StoreError::KeyConflict { .. }) => prop_assert!(conflict, "{}", context()),
                            Err(StoreError::AlreadyExists { .. }) => {
                                prop_assert!(*new && model.contains_key(text), "{}", context());
                            }
                            Err(error) => prop_assert!(false, "{}: {error}", context()),
                            Ok(()) => {
                                prop_assert!(!(conflict || *new && model.contains_key(text)), "{}", context());
                                model.insert(text.clone(), bytes.clone());
                            }
                        }
                    }
                    Operation::Delete(text) => {
                        let was = store.delete(key(text)).unwrap();
                        prop_assert_eq!(was, model.contains_key(text), "{}", context());
                        model.remove(text);
                    }
                    Operation::Read(text, range) => {
                        let mut out = vec![7];
                        let answer = store.read(key(text), *range, 100, &mut out);
                        match model.get(text) {
                            None => prop_assert!(matches!(answer, Ok(false)), "{}", context()),
                            Some(bytes) => match range.resolve(bytes.len() as u64) {
                                None => prop_assert!(matches!(answer, Err(StoreError::OutOfRange { .. })), "{}", context()),
                                Some(part) => {
                                    prop_assert!(matches!(answer, Ok(true)), "{}", context());
                                    prop_assert_eq!(&out, &bytes[part.start as usize..part.end as usize]);
                                }
                            },
                        }
                    }
                    Operation::List(text, all) => {
                        let depth = if *all { Depth::All } else { Depth::One };
                        let found = keys(store, Prefix::parse(text).unwrap(), depth);
                        prop_assert_eq!(found, listed(&model, text, *all), "{}", context());
                    }
                    Operation::Publish => store.publish().unwrap(),
                }
            }
            for (text, bytes) in &model {
                let found = store.read_vec(key(text), 100).unwrap();
                prop_assert_eq!(found.as_ref(), Some(bytes));
            }
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = prop::collection::vec(prop_oneof!["a", "b", "a\\.", "0"], 1..4).prop_map(|s| s.join("/"));
    let range = prop_oneof![
        Just(ReadRange::All),
        (0u64..10).prop_map(ReadRange::From),
        (0u64..10, 0u64..10).prop_map(|(offset, len)| ReadRange::Bounded { offset, len }),
        (0u64..10).prop_map(ReadRange::Suffix),
    ];
    prop_oneof![
        4 => (key.clone(), prop::collection::vec(any::<u8>(), 0..10), any::<bool>()).prop_map(|(k, b, n)| Operation::Write(k, b, n)),
        2 => key.clone().prop_map(Operation::Delete),
        2 => (key.clone(), range).prop_map(|(k, r)| Operation::Read(k, r)),
        2 => (prop_oneof![Just(String::new()), key], any::<bool>()).prop_map(|(k, a)| Operation::List(k, a)),
        1 => Just(Operation::Publish),
    ]
}

fn below(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// What the map holds below a prefix, as `keys` spells it.
fn listed(model: &BTreeMap<String, Vec<u8>>, prefix: &str, all: bool) -> Vec<String> {
    let mut found = BTreeSet::new();
    for text in model.keys().filter(|text| prefix.is_empty() || below(text, prefix)) {
        let start = if prefix.is_empty() { 0 } else { prefix.len() + 1 };
        let slashes: Vec<usize> = text[start..]
            .match_indices('/')
            .map(|(at, _)| start + at)
            .take(if all { 9 } else { 1 })
            .collect();
        for at in &slashes {
            found.insert((text[..*at].to_owned(), true));
        }
        if all || slashes.is_empty() {
            found.insert((text.clone(), false));
        }
    }
    found.into_iter().map(|(text, directory)| if directory { text + "/" } else { text }).collect()
}
