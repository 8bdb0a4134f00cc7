//! Any sequence of changes to an archive is what it is to a map, for us and for the crate zip.

use ncz_store::{
    Access, CreateOptions, Durability, KeyBuf, Store, StoreError, WriteMode, ZipLayout, ZipStore,
};
use proptest::prelude::*;

use crate::{Objects, entries, key, objects};

#[derive(Debug, Clone)]
enum Change {
    Write(String, Vec<u8>),
    Delete(String),
    Publish,
    Reopen,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_sequence_of_changes_leaves_a_sound_archive(changes in prop::collection::vec(change(), 1..40), prefixed: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.zip");
        let layout = if prefixed { ZipLayout::Prefix(KeyBuf::parse("data").unwrap()) } else { ZipLayout::Flat };
        let mut store = Some(
            ZipStore::create(&path, CreateOptions::new().durability(Durability::Process), layout.clone()).unwrap(),
        );
        let mut model = Objects::new();
        let mut published: Option<Objects> = None;
        for change in &changes {
            let current = store.as_ref().unwrap();
            match change {
                Change::Write(text, bytes) => match current.write(key(text), bytes, WriteMode::Replace) {
                    Ok(()) => drop(model.insert(text.clone(), bytes.clone())),
                    Err(StoreError::KeyConflict { .. }) => {}
                    Err(error) => prop_assert!(false, "{error}"),
                },
                Change::Delete(text) => {
                    prop_assert_eq!(current.delete(key(text)).unwrap(), model.remove(text).is_some());
                }
                Change::Publish => {
                    current.publish().unwrap();
                    published = Some(model.clone());
                    let name = |text: &String| if prefixed { format!("data/{text}") } else { text.clone() };
                    let expected: Objects = model.iter().map(|(text, bytes)| (name(text), bytes.clone())).collect();
                    prop_assert_eq!(entries(&path), expected);
                }
                // an empty archive is refused, and what was never published is gone
                Change::Reopen => {
                    if published.as_ref().is_some_and(|objects| !objects.is_empty()) {
                        drop(store.take());
                        model = published.clone().unwrap();
                        let opened = ZipStore::open(&path, Access::ReadWrite, layout.clone()).unwrap();
                        store = Some(opened.with_durability(Durability::Process));
                    }
                }
            }
            prop_assert_eq!(&objects(store.as_ref().unwrap()), &model);
        }
        drop(store);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), usize::from(published.is_some()));
    }
}

fn change() -> impl Strategy<Value = Change> {
    let key = prop::collection::vec(prop_oneof!["a", "b", "é", "0"], 1..4).prop_map(|s| s.join("/"));
    prop_oneof![
        5 => (key.clone(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(k, b)| Change::Write(k, b)),
        3 => key.prop_map(Change::Delete),
        2 => Just(Change::Publish),
        1 => Just(Change::Reopen),
    ]
}
