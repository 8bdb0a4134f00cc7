//! The store contract for reads, on a server with ranges, without, and with partial support.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::thread;

use ncz::store::http::HttpStore;
use ncz::store::{Depth, Prefix, ReadInto, ReadRange, ReadRequest, Store, StoreError, StoreExt, WriteMode};
use ncz_test_servers::{HttpServer, Ranges};

use super::setup::{config, digits, key, open, read};

fn each(claim: impl Fn(&HttpServer, &dyn Store)) {
    for ranges in [Ranges::Served, Ranges::Ignored, Ranges::Declined, Ranges::NoSuffix] {
        eprintln!("against a server with {ranges:?}");
        let server = digits(ranges);
        claim(&server, &open(&server));
    }
}

#[test]
fn existing_objects_are_read_and_others_are_missing() {
    each(|server, store| {
        let a = key("t/1");
        let mut buffer = vec![9; 4];
        for range in [
            ReadRange::All,
            ReadRange::From(3),
            ReadRange::Suffix(3),
            ReadRange::Suffix(0),
            ReadRange::Bounded { offset: 1, len: 1 },
            ReadRange::Bounded { offset: 1, len: 101 },
        ] {
            assert!(!store.read(a, range, 100, &mut buffer).unwrap(), "{range}");
            assert!(buffer.is_empty());
        }
        assert_eq!(store.len(a).unwrap(), None);
        assert!(!store.exists(a).unwrap());
        assert_eq!(store.read_into(a, 0, &mut [0; 4]).unwrap(), None);
        assert_eq!(store.read_into(a, 0, &mut []).unwrap(), None);

        server.put("d.zarr/t/1", "chunk");
        assert_eq!(read(store, "t/1").unwrap().unwrap(), b"chunk");
        assert_eq!(store.len(a).unwrap(), Some(5));
        server.put("d.zarr/t/1", "");
        assert_eq!(store.read_vec(a, 0).unwrap(), Some(Vec::new()));
        assert_eq!(store.len(a).unwrap(), Some(0));
        assert_eq!(store.read_into(a, 0, &mut [0; 4]).unwrap(), Some(ReadInto { filled: 0, object_len: 0 }));
        let error = store.read(a, ReadRange::Suffix(3), 100, &mut buffer).unwrap_err();
        assert!(matches!(error, StoreError::OutOfRange { object_len: 0, .. }), "{error}");
    });
}

#[test]
fn a_range_gives_exactly_its_bytes_or_an_error() {
    each(|_, store| {
        let a = key("t/0");
        let mut out = Vec::new();
        for (range, want) in [
            (ReadRange::All, "0123456789"),
            (ReadRange::From(0), "0123456789"),
            (ReadRange::From(4), "456789"),
            (ReadRange::From(10), ""),
            (ReadRange::Bounded { offset: 2, len: 3 }, "234"),
            (ReadRange::Bounded { offset: 7, len: 3 }, "789"),
            (ReadRange::Bounded { offset: 0, len: 10 }, "0123456789"),
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
            ReadRange::From(u64::MAX),
            ReadRange::Bounded { offset: 8, len: 3 },
            ReadRange::Bounded { offset: 11, len: 0 },
            ReadRange::Bounded { offset: 0, len: 11 },
            ReadRange::Bounded { offset: u64::MAX, len: 2 },
            ReadRange::Bounded { offset: 2, len: u64::MAX },
            ReadRange::Suffix(11),
            ReadRange::Suffix(u64::MAX),
        ] {
            let error = store.read(a, range, 100, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::OutOfRange { object_len: 10, .. }), "{range}: {error}");
            assert!(out.is_empty());
        }
    });
}

#[test]
fn an_object_above_the_limit_is_refused_before_memory_is_taken() {
    each(|server, store| {
        server.put("d.zarr/a", vec![1; 5000]);
        let mut out = Vec::new();
        for range in [ReadRange::All, ReadRange::Suffix(5000), ReadRange::Bounded { offset: 0, len: 5000 }] {
            let error = store.read(key("a"), range, 4999, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::TooLarge { len: 5000, limit: 4999, .. }), "{range}: {error}");
            assert_eq!(out.capacity(), 0);
        }
        assert!(store.read(key("a"), ReadRange::Suffix(4999), 4999, &mut out).unwrap());
        assert!(out.capacity() < 6000, "{}", out.capacity());
    });
}

#[test]
fn a_buffer_that_has_room_is_not_replaced() {
    each(|server, store| {
        server.put("d.zarr/a", vec![1; 5000]);
        let mut out = Vec::with_capacity(5001);
        let place = out.as_ptr();
        for range in [ReadRange::All, ReadRange::From(17), ReadRange::Suffix(100)] {
            assert!(store.read(key("a"), range, 5000, &mut out).unwrap());
            assert_eq!(out.as_ptr(), place);
        }
    });
}

#[test]
fn read_into_fills_the_common_part_and_returns_the_true_length() {
    each(|_, store| {
        for (offset, room, want) in [
            (0, 10, "0123456789"),
            (0, 4, "0123"),
            (0, 12, "0123456789"),
            (2, 5, "23456"),
            (8, 4, "89"),
            (10, 4, ""),
            (99, 4, ""),
            (u64::MAX, 4, ""),
            (3, 0, ""),
        ] {
            let mut out = vec![0xee; room];
            let found = store.read_into(key("t/0"), offset, &mut out).unwrap();
            assert_eq!(found, Some(ReadInto { filled: want.len(), object_len: 10 }), "{offset} {room}");
            assert_eq!(&out[..want.len()], want.as_bytes());
            assert!(out[want.len()..].iter().all(|byte| *byte == 0xee), "nothing beyond is touched");
        }
    });
}

#[test]
fn read_end_into_fills_the_last_bytes_and_returns_the_true_length() {
    each(|server, store| {
        for (room, want) in [(4, "6789"), (1, "9"), (9, "123456789"), (10, "0123456789"), (0, "")] {
            let mut out = vec![0xee; room];
            let found = store.read_end_into(key("t/0"), &mut out).unwrap();
            assert_eq!(found, Some(ReadInto { filled: room, object_len: 10 }), "{room}");
            assert_eq!(out, want.as_bytes());
        }
        let mut out = [0xee; 12];
        let found = store.read_end_into(key("t/0"), &mut out).unwrap();
        assert_eq!(found, Some(ReadInto { filled: 10, object_len: 10 }));
        assert_eq!(&out, b"0123456789\xee\xee", "nothing beyond is touched");

        assert_eq!(store.read_end_into(key("t/1"), &mut out).unwrap(), None);
        assert_eq!(store.read_end_into(key("t/1"), &mut []).unwrap(), None);
        server.put("d.zarr/t/1", "");
        let empty = Some(ReadInto { filled: 0, object_len: 0 });
        assert_eq!(store.read_end_into(key("t/1"), &mut out).unwrap(), empty);
        server.put("d.zarr/t/1", vec![5; 100_000]);
        let mut out = vec![0; 70_000];
        let found = store.read_end_into(key("t/1"), &mut out).unwrap();
        assert_eq!(found, Some(ReadInto { filled: 70_000, object_len: 100_000 }));
        assert!(out.iter().all(|byte| *byte == 5));
    });
}

#[test]
fn read_many_answers_every_request_once_on_the_calling_thread_and_stops_on_request() {
    each(|server, store| {
        server.put("d.zarr/a", "aa");
        server.put("d.zarr/b", "bbb");
        let request = |text, range, max_len| ReadRequest { key: key(text), range, max_len };
        let requests = [
            request("a", ReadRange::All, 10),
            request("missing", ReadRange::All, 10),
            request("b", ReadRange::Suffix(1), 10),
            request("b", ReadRange::All, 2),
        ];
        let here = thread::current().id();
        let answers = Mutex::new(vec![None; 4]);
        store.read_many(&requests, &|index, answer| {
            assert_eq!(thread::current().id(), here);
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
        store.read_many(&[], &|_, _| panic!("nothing was requested"));
    });
}

#[test]
fn nothing_is_written_deleted_or_listed_and_the_errors_say_what_to_do() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    let error = store.write(key("a"), b"1", WriteMode::Replace).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(matches!(store.delete(key("t/0")).unwrap_err(), StoreError::ReadOnly { .. }));
    let error = store.list(Prefix::ROOT, Depth::One, 10).unwrap_err();
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&store.to_string()) && text.contains("consolidated") && text.contains("NCZarr"),
        "{text}"
    );
    store.sync().unwrap();
    store.publish().unwrap();
    assert_eq!(server.total(), 0, "none of this is a request");
    let can = store.capabilities();
    assert!(!can.writable && !can.list && !can.local && can.ranges && can.in_flight == 64, "{can:?}");
}

#[test]
fn keys_and_locations_with_all_kinds_of_letters_are_found() {
    let server = digits(Ranges::Served);
    for text in
        ["é a/50%", "x+y&z=1", "?#/%2e%2e", "[1]:;@!$'(),*", "a\\b", "\u{1f30a}/0.0", ".zattrs", "~/-_"]
    {
        server.put(&format!("my data/d%.zarr/{text}"), text.to_owned());
        for place in ["my%20data/d%25.zarr", "my%20data/d%25.zarr/", "my data/d%25.zarr"] {
            let store = HttpStore::open(config(server.url(place))).unwrap();
            assert_eq!(read(&store, text).unwrap().as_deref(), Some(text.as_bytes()), "{place} {text}");
        }
    }
}

#[test]
fn opening_asks_nothing_and_errors_name_the_store_and_the_key() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    assert_eq!(server.total(), 0);
    let error = store.read_vec(key("t/0"), 0).unwrap_err().to_string();
    assert!(error.contains("\"t/0\"") && error.contains(&server.url("d.zarr")), "{error}");
}
