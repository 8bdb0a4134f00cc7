//! What each operation promises.

use std::ops::ControlFlow;
use std::sync::Mutex;

use ncz_store::{
    Depth, EntryKind, Prefix, ReadInto, ReadRange, ReadRequest, Store, StoreError, StoreExt, WriteMode,
};

use super::stores::{each, key};

#[test]
fn what_is_written_is_read_and_what_is_not_is_missing() {
    each(|store| {
        let a = key("group/a/0.0");
        let mut buffer = vec![9; 4];
        assert!(!store.read(a, ReadRange::All, 100, &mut buffer).unwrap());
        assert!(buffer.is_empty());
        assert_eq!((store.len(a).unwrap(), store.stamp(a).unwrap()), (None, None));
        assert_eq!(store.read_into(a, 0, &mut [0; 4]).unwrap(), None);

        store.write(a, b"chunk", WriteMode::Replace).unwrap();
        assert!(store.read(a, ReadRange::All, 100, &mut buffer).unwrap());
        assert_eq!(buffer, b"chunk");
        assert_eq!(store.len(a).unwrap(), Some(5));
        let stamp = store.stamp(a).unwrap().unwrap();
        assert_eq!((stamp.length, store.stamp(a).unwrap()), (5, Some(stamp)), "the object did not change");

        store.write(a, b"", WriteMode::Replace).unwrap();
        assert_eq!(store.read_vec(a, 0).unwrap(), Some(Vec::new()));
        assert_eq!(store.len(a).unwrap(), Some(0));
    });
}

#[test]
fn a_shorter_object_leaves_no_tail_of_the_longer_one() {
    each(|store| {
        let a = key(".zattrs");
        store.write(a, &[b'x'; 10_000], WriteMode::Replace).unwrap();
        store.write(a, b"{}", WriteMode::Replace).unwrap();
        assert_eq!(store.read_vec(a, 20_000).unwrap().unwrap(), b"{}");
    });
}

#[test]
fn a_range_gives_exactly_its_bytes_or_an_error() {
    each(|store| {
        let a = key("a");
        store.write(a, b"0123456789", WriteMode::Replace).unwrap();
        let mut out = Vec::new();
        for (range, want) in [
            (ReadRange::All, "0123456789"),
            (ReadRange::From(4), "456789"),
            (ReadRange::From(10), ""),
            (ReadRange::Bounded { offset: 2, len: 3 }, "234"),
            (ReadRange::Bounded { offset: 7, len: 3 }, "789"),
            (ReadRange::Bounded { offset: 10, len: 0 }, ""),
            (ReadRange::Suffix(4), "6789"),
            (ReadRange::Suffix(0), ""),
            (ReadRange::Suffix(10), "0123456789"),
        ] {
            assert!(store.read(a, range, 10, &mut out).unwrap());
            assert_eq!(out, want.as_bytes(), "{range}");
        }
        for range in [
            ReadRange::From(11),
            ReadRange::Bounded { offset: 8, len: 3 },
            ReadRange::Bounded { offset: u64::MAX, len: 2 },
            ReadRange::Suffix(11),
        ] {
            let error = store.read(a, range, 100, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::OutOfRange { object_len: 10, .. }), "{error}");
            assert!(out.is_empty());
        }
    });
}

#[test]
fn an_object_above_the_limit_is_refused_before_memory_is_taken() {
    each(|store| {
        let a = key("a");
        store.write(a, &[1; 5000], WriteMode::Replace).unwrap();
        let mut out = Vec::new();
        let error = store.read(a, ReadRange::All, 4999, &mut out).unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { len: 5000, limit: 4999, .. }), "{error}");
        assert_eq!(out.capacity(), 0);
        assert!(store.read(a, ReadRange::Suffix(4999), 4999, &mut out).unwrap());
    });
}

#[test]
fn a_buffer_that_has_room_is_not_replaced() {
    each(|store| {
        let a = key("a");
        store.write(a, &[1; 5000], WriteMode::Replace).unwrap();
        let mut out = Vec::with_capacity(5001);
        let location = out.as_ptr();
        assert!(store.read(a, ReadRange::All, 5000, &mut out).unwrap());
        assert_eq!(out.as_ptr(), location);
    });
}

#[test]
fn read_into_fills_the_common_part_and_returns_the_true_length() {
    each(|store| {
        let a = key("a");
        store.write(a, b"0123456789", WriteMode::Replace).unwrap();
        for (offset, room, want) in [
            (0, 10, "0123456789"),
            (0, 4, "0123"),
            (0, 12, "0123456789"),
            (8, 4, "89"),
            (10, 4, ""),
            (99, 4, ""),
            (u64::MAX, 4, ""),
            (3, 0, ""),
        ] {
            let mut out = vec![0xee; room];
            let found = store.read_into(a, offset, &mut out).unwrap();
            assert_eq!(found, Some(ReadInto { filled: want.len(), object_len: 10 }));
            assert_eq!(&out[..want.len()], want.as_bytes());
            assert!(out[want.len()..].iter().all(|byte| *byte == 0xee), "nothing beyond is touched");
        }
    });
}

#[test]
fn create_new_refuses_what_exists_and_leaves_it() {
    each(|store| {
        let a = key("v/0");
        store.write(a, b"first", WriteMode::CreateNew).unwrap();
        let error = store.write(a, b"second", WriteMode::CreateNew).unwrap_err();
        assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
        assert_eq!(error.netcdf_code(), -140);
        assert_eq!(store.read_vec(a, 100).unwrap().unwrap(), b"first");
    });
}

#[test]
fn no_content_key_is_a_prefix_of_another() {
    each(|store| {
        if !store.capabilities().key_conflicts {
            return;
        }
        store.write(key("a/b"), b"1", WriteMode::Replace).unwrap();
        for (bad, other) in [("a/b/c", "a/b"), ("a/b/c/d", "a/b"), ("a", "a/")] {
            for mode in [WriteMode::Replace, WriteMode::CreateNew] {
                let error = store.write(key(bad), b"2", mode).unwrap_err();
                let StoreError::KeyConflict { other: named, .. } = &error else {
                    panic!("{bad}: {error}");
                };
                assert!(named.starts_with(other), "{bad}: {named}");
                assert_eq!(store.read_vec(key(bad), 10).unwrap(), None);
            }
        }
        store.write(key("a/bc"), b"3", WriteMode::Replace).unwrap();
        let listing = store.list(Prefix::ROOT, Depth::All, 10).unwrap();
        assert_eq!(listing.entries.len(), 3, "{listing:?}");
        // once the object has gone its name may lead to others
        assert!(store.delete(key("a/b")).unwrap());
        store.write(key("a/b/c"), b"4", WriteMode::Replace).unwrap();
    });
}

#[test]
fn delete_says_whether_there_was_an_object_and_leaves_no_empty_directory() {
    each(|store| {
        assert!(!store.delete(key("a/b/c")).unwrap());
        store.write(key("a/b/c"), b"1", WriteMode::Replace).unwrap();
        store.write(key("a/d"), b"1", WriteMode::Replace).unwrap();
        assert!(!store.delete(key("a/b")).unwrap(), "a directory is not an object");
        assert!(!store.delete(key("a/d/e")).unwrap());
        assert!(store.delete(key("a/b/c")).unwrap());
        let left: Vec<_> = keys(store, Prefix::ROOT, Depth::All);
        assert_eq!(left, ["a/", "a/d"]);
        assert!(store.delete(key("a/d")).unwrap());
        assert!(keys(store, Prefix::ROOT, Depth::All).is_empty());
        store.write(key("a"), b"1", WriteMode::Replace).unwrap();
    });
}

#[test]
fn a_listing_is_sorted_by_bytes_and_bounded() {
    each(|store| {
        for text in ["a/0", "a/1/x", "a.b", "a0", "B", ".zgroup", "é/0", "a/1/y"] {
            store.write(key(text), b"1", WriteMode::Replace).unwrap();
        }
        assert_eq!(keys(store, Prefix::ROOT, Depth::One), [".zgroup", "B", "a/", "a.b", "a0", "é/"]);
        assert_eq!(
            keys(store, Prefix::ROOT, Depth::All),
            [".zgroup", "B", "a/", "a.b", "a/0", "a/1/", "a/1/x", "a/1/y", "a0", "é/", "é/0"]
        );
        assert_eq!(keys(store, Prefix::parse("a").unwrap(), Depth::One), ["a/0", "a/1/"]);
        assert_eq!(keys(store, Prefix::parse("a/1").unwrap(), Depth::All), ["a/1/x", "a/1/y"]);
        for nothing in ["B", "a/2", "none/at/all", "a/0/x"] {
            assert!(keys(store, Prefix::parse(nothing).unwrap(), Depth::All).is_empty(), "{nothing}");
        }
        assert_eq!(store.list(Prefix::ROOT, Depth::All, 11).unwrap().entries.len(), 11);
        let error = store.list(Prefix::ROOT, Depth::All, 10).unwrap_err();
        assert!(matches!(error, StoreError::TooManyEntries { limit: 10, .. }), "{error}");
    });
}

#[test]
fn read_many_answers_every_request_once_and_stops_when_told() {
    each(|store| {
        store.write(key("a"), b"aa", WriteMode::Replace).unwrap();
        store.write(key("b"), b"bbb", WriteMode::Replace).unwrap();
        let request = |text, range, max_len| ReadRequest { key: key(text), range, max_len };
        let requests = [
            request("a", ReadRange::All, 10),
            request("missing", ReadRange::All, 10),
            request("b", ReadRange::Suffix(1), 10),
            request("b", ReadRange::All, 2),
        ];
        let answers = Mutex::new(vec![None; 4]);
        store.read_many(&requests, &|index, answer| {
            let text = match answer {
                Ok(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
                Ok(None) => "missing".to_owned(),
                Err(_) => "error".to_owned(),
            };
            assert!(answers.lock().unwrap()[index].replace(text).is_none());
            // a callback may use the store
            assert!(store.exists(key("a")).unwrap());
            ControlFlow::Continue(())
        });
        let answers: Vec<_> = answers.into_inner().unwrap().into_iter().flatten().collect();
        assert_eq!(answers, ["aa", "missing", "b", "error"]);

        let calls = Mutex::new(0);
        store.read_many(&requests, &|_, _| {
            *calls.lock().unwrap() += 1;
            ControlFlow::Break(())
        });
        assert_eq!(*calls.lock().unwrap(), 1);
    });
}

#[test]
fn errors_name_the_store_and_the_key() {
    each(|store| {
        store.write(key("v/0.0"), b"1", WriteMode::Replace).unwrap();
        let error = store.read_vec(key("v/0.0"), 0).unwrap_err().to_string();
        assert!(error.contains("\"v/0.0\"") && error.contains(&store.to_string()), "{error}");
    });
}

#[test]
fn sync_and_publish_may_be_called_at_any_time() {
    each(|store| {
        store.sync().unwrap();
        store.write(key("a"), b"1", WriteMode::Replace).unwrap();
        store.publish().unwrap();
        store.publish().unwrap();
        store.write(key("b"), b"2", WriteMode::Replace).unwrap();
        store.sync().unwrap();
        assert_eq!(keys(store, Prefix::ROOT, Depth::One), ["a", "b"]);
    });
}

/// The keys of a listing; directories end in a slash.
pub(crate) fn keys(store: &dyn Store, prefix: Prefix<'_>, depth: Depth) -> Vec<String> {
    let listing = store.list(prefix, depth, 1000).unwrap();
    assert!(listing.skipped.is_empty(), "{listing:?}");
    let text = |entry: &ncz_store::Entry| match entry.kind {
        EntryKind::Object => entry.key.to_string(),
        EntryKind::Directory => format!("{}/", entry.key),
    };
    listing.entries.iter().map(text).collect()
}
