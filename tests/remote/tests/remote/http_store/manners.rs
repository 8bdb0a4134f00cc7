//! Servers that answer otherwise than one would wish.

use std::fs;

use ncz::store::http::{HttpConfig, HttpStore};
use ncz::store::{ReadRange, Store, StoreError};
use ncz_test_servers::{Authority, Fault, Gzip, HttpOptions, HttpServer, Missing, Operation, Ranges, Rule};

use super::setup::{always, asked, config, digits, flood, key, open, read, server};

fn suffix(store: &dyn Store, len: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut out = Vec::new();
    Ok(store.read(key("t/0"), ReadRange::Suffix(len), 1 << 20, &mut out)?.then_some(out))
}

/// The end of the object as [`Store::read_end_into`] gives it.
fn end(store: &dyn Store, room: usize) -> Vec<u8> {
    let mut out = vec![0; room];
    let found = store.read_end_into(key("t/0"), &mut out).unwrap().unwrap();
    assert_eq!((found.filled, found.object_len), (room, 10));
    out
}

#[test]
fn a_read_is_one_get_and_a_length_one_head() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    read(&store, "t/0").unwrap();
    assert_eq!(asked(&server), (1, 0));
    for range in [
        ReadRange::From(2),
        ReadRange::Bounded { offset: 1, len: 2 },
        ReadRange::Suffix(3),
        ReadRange::Suffix(11),
    ] {
        let _ = store.read(key("t/0"), range, 100, &mut Vec::new());
        assert_eq!(asked(&server), (1, 0), "{range}");
    }
    store.read_into(key("t/0"), 0, &mut [0; 10]).unwrap();
    assert_eq!(asked(&server), (1, 0));
    for room in [3, 10, 11] {
        store.read_end_into(key("t/0"), &mut vec![0; room]).unwrap();
        assert_eq!(asked(&server), (1, 0), "{room}");
    }
    store.len(key("t/0")).unwrap();
    assert_eq!(asked(&server), (0, 1));
    read(&store, "t/1").unwrap();
    assert_eq!(asked(&server), (1, 0));
}

#[test]
fn a_server_without_ranges_is_found_out_and_the_object_read_once() {
    for ranges in [Ranges::Ignored, Ranges::Declined] {
        let server = digits(ranges);
        let store = open(&server);
        assert!(store.capabilities().ranges);
        read(&store, "t/0").unwrap();
        assert_eq!(store.capabilities().ranges, ranges == Ranges::Ignored, "one says it at once");
        let mut out = Vec::new();
        store.read(key("t/0"), ReadRange::Bounded { offset: 3, len: 2 }, 100, &mut out).unwrap();
        assert_eq!(out, b"34");
        assert!(!store.capabilities().ranges);
        asked(&server);
        assert_eq!(suffix(&store, 3).unwrap().unwrap(), b"789");
        assert_eq!(asked(&server), (1, 0));
        assert_eq!(end(&store, 3), b"789");
        assert_eq!(asked(&server), (1, 0));
    }
}

#[test]
fn a_server_that_does_not_know_suffixes_gets_other_ranges() {
    let server = digits(Ranges::NoSuffix);
    let store = open(&server);
    assert_eq!(suffix(&store, 3).unwrap().unwrap(), b"789");
    // its refusal had the length
    assert_eq!(asked(&server), (2, 0));
    assert_eq!(suffix(&store, 4).unwrap().unwrap(), b"6789");
    assert_eq!(asked(&server), (1, 1));
    assert!(store.capabilities().ranges);
    assert_eq!(end(&store, 4), b"6789");
    assert_eq!(asked(&server), (1, 1));
    let store = open(&server);
    assert_eq!(end(&store, 3), b"789");
    assert_eq!(asked(&server), (2, 0));
    assert_eq!(end(&store, 4), b"6789");
    assert_eq!(asked(&server), (1, 1));
    for status in [400, 501] {
        let server = digits(Ranges::Served);
        server.fail(Rule::new(Fault::answer(status, "NotImplemented", "suffix")).nth(1));
        let store = open(&server);
        assert_eq!(suffix(&store, 3).unwrap().unwrap(), b"789");
        assert_eq!(asked(&server), (2, 1));
        server.fail(Rule::new(Fault::answer(status, "NotImplemented", "suffix")).nth(1));
        assert_eq!(end(&open(&server), 3), b"789");
        assert_eq!(asked(&server), (2, 1));
    }
}

#[test]
fn another_range_than_asked_for_is_refused() {
    for ranges in [Ranges::WrongContentRange, Ranges::NoContentRange] {
        let server = digits(ranges);
        let store = open(&server);
        let mut out = Vec::new();
        for range in [ReadRange::Bounded { offset: 2, len: 3 }, ReadRange::From(2)] {
            let error = store.read(key("t/0"), range, 100, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Service { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("expected bytes") || text.contains("does not say which"), "{text}");
            assert!(out.is_empty());
        }
        assert!(store.read_into(key("t/0"), 2, &mut [0; 3]).is_err());
        assert_eq!(asked(&server).0, 3, "information from the server is not requested again");
        assert!(store.read_end_into(key("t/0"), &mut [0; 3]).is_err());
    }
}

#[test]
fn answers_that_do_not_fit_the_question_are_refused() {
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\nConnection: close\r\n\r\n01234";
    let store = HttpStore::open(config(always(part))).unwrap();
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("but all of it was requested"), "{error}");
    // a part shorter than requested, though the object is longer; a suffix that is a beginning
    let mut out = Vec::new();
    for range in [ReadRange::Bounded { offset: 0, len: 7 }, ReadRange::Suffix(5)] {
        let error = store.read(key("t/0"), range, 10, &mut out).unwrap_err().to_string();
        assert!(error.contains("expected bytes"), "{range}: {error}");
        assert!(out.is_empty());
    }
    assert!(store.read_into(key("t/0"), 0, &mut [0; 7]).is_err());
    assert_eq!(store.read_into(key("t/0"), 0, &mut [0; 5]).unwrap().unwrap().object_len, 10);
    let lying = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 4\r\nConnection: close\r\n\r\n0123";
    let store = HttpStore::open(config(always(lying))).unwrap();
    let error = store.read(key("t/0"), ReadRange::Bounded { offset: 0, len: 5 }, 10, &mut out).unwrap_err();
    assert!(error.to_string().contains("contradict"), "{error}");
    let several = "HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=x\r\nContent-Length: 4\r\nConnection: close\r\n\r\n--x-";
    let store = HttpStore::open(config(always(several))).unwrap();
    let error = store.read(key("t/0"), ReadRange::Bounded { offset: 0, len: 5 }, 10, &mut out).unwrap_err();
    assert!(error.to_string().contains("does not say which"), "{error}");
    // the end of the connection is the end of the body
    let bare = "HTTP/1.0 200 OK\r\n\r\n0123456789";
    let store = HttpStore::open(config(always(bare))).unwrap();
    assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
    for (range, want) in [(ReadRange::Bounded { offset: 7, len: 3 }, "789"), (ReadRange::From(8), "89")] {
        assert!(store.read(key("t/0"), range, 10, &mut out).unwrap());
        assert_eq!(out, want.as_bytes());
    }
    let error = store.read(key("t/0"), ReadRange::Bounded { offset: 8, len: 3 }, 10, &mut out).unwrap_err();
    assert!(matches!(error, StoreError::OutOfRange { object_len: 10, .. }), "{error}");
    let error = store.read(key("t/0"), ReadRange::Suffix(3), 10, &mut out).unwrap_err().to_string();
    assert!(error.contains("does not report the length"), "{error}");
}

#[test]
fn pages_are_not_taken_for_objects() {
    let server = HttpServer::empty(HttpOptions { missing: Missing::Page, ..HttpOptions::default() }).unwrap();
    let store = open(&server);
    for text in [".zmetadata", "t/0.0", "t/.zarray"] {
        let error = read(&store, text).unwrap_err();
        assert!(matches!(error, StoreError::Service { .. }), "{error}");
        assert!(error.to_string().contains("text/html"), "{error}");
        assert!(store.len(key(text)).is_err());
        assert!(store.read_into(key(text), 0, &mut [0; 4]).is_err());
        assert!(store.read(key(text), ReadRange::Suffix(4), 10, &mut Vec::new()).is_err());
    }
    assert!(read(&store, "readme.html").unwrap().is_some());
}

#[test]
fn compressed_bodies_are_refused_and_not_asked_for() {
    let server = HttpServer::empty(HttpOptions { gzip: Gzip::Accepted, ..HttpOptions::default() }).unwrap();
    server.put("d.zarr/t/0", "0123456789");
    assert_eq!(read(&open(&server), "t/0").unwrap().unwrap(), b"0123456789");
    server.configure(|options| options.gzip = Gzip::Always);
    let store = open(&server);
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("gzip") && error.contains("disable"), "{error}");
    assert!(store.len(key("t/0")).is_err(), "it is the length of something else");
}

#[test]
fn gone_is_missing_and_denied_is_an_error_with_its_remedy() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    server.configure(|options| options.missing = Missing::Gone);
    assert_eq!(read(&store, "t/9").unwrap(), None);
    server.configure(|options| options.missing = Missing::Forbidden);
    for error in [read(&store, "t/9").unwrap_err(), store.len(key("t/9")).unwrap_err()] {
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
    server.configure(|options| options.basic_auth = Some(("me".to_owned(), "pw".to_owned())));
    let error = read(&store, "t/0").unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("give user and password"), "{error}");
}

#[test]
fn a_range_of_one_byte_gives_the_length_if_head_is_not_allowed() {
    for status in [405, 501, 403] {
        let server = digits(Ranges::Served);
        server.put("d.zarr/empty", "");
        server.fail(Rule::new(Fault::answer(status, "MethodNotAllowed", "HEAD")).operation(Operation::Head));
        let store = open(&server);
        assert_eq!(store.len(key("t/0")).unwrap(), Some(10));
        assert_eq!(asked(&server), (1, 1));
        assert_eq!(store.len(key("empty")).unwrap(), Some(0));
        assert_eq!(store.len(key("none")).unwrap(), None);
        assert_eq!(asked(&server), (2, 0), "HEAD is not tried again");
        server.configure(|options| options.ranges = Ranges::Ignored);
        assert_eq!(store.len(key("t/0")).unwrap(), Some(10));
    }
}

#[test]
fn an_object_of_unknown_length_is_read_all_the_same() {
    for ranges in [Ranges::Served, Ranges::Ignored] {
        let server = digits(ranges);
        // without a length the body comes in chunks
        server.fail(Rule::new(Fault::Header("content-length".to_owned(), None)));
        let store = open(&server);
        assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
        let mut out = Vec::new();
        for (range, want) in [
            (ReadRange::From(4), &b"456789"[..]),
            (ReadRange::From(10), b""),
            (ReadRange::Bounded { offset: 2, len: 3 }, b"234"),
            (ReadRange::Bounded { offset: 7, len: 3 }, b"789"),
        ] {
            match store.read(key("t/0"), range, 10, &mut out) {
                Ok(found) => assert!(found && out == want, "{range}"),
                Err(error) => {
                    // the end of the object can be requested only if the length is known
                    let text = error.to_string();
                    assert!(range == ReadRange::From(10) && text.contains("length"), "{range}: {text}");
                }
            }
        }
        for range in [ReadRange::From(11), ReadRange::Bounded { offset: 8, len: 3 }] {
            assert!(store.read(key("t/0"), range, 10, &mut out).is_err());
            assert!(out.is_empty());
        }
        let error = store.read(key("t/0"), ReadRange::All, 9, &mut out).unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { limit: 9, .. }), "{error}");
    }
}

#[test]
fn much_is_not_read_in_vain() {
    let server = digits(Ranges::Ignored);
    server.put("d.zarr/large", vec![7; 80 << 20]);
    let store = open(&server);
    let mut out = Vec::new();
    assert!(store.read(key("large"), ReadRange::Bounded { offset: 30 << 20, len: 5 }, 10, &mut out).unwrap());
    assert_eq!(out, [7; 5]);
    assert!(out.capacity() < 100, "unrequested bytes take no memory");
    assert!(store.read_end_into(key("large"), &mut [0; 5]).is_err(), "79 MiB for 5 bytes");
    let error = store.read(key("large"), ReadRange::Suffix(5), 10, &mut out).unwrap_err().to_string();
    assert!(error.contains("no ranges") && error.contains("copy the dataset"), "{error}");
}

#[test]
fn what_follows_a_range_is_left_unread() {
    let len = 64 << 20;
    let (url, gone_out) = flood(len);
    let store = HttpStore::open(config(url)).unwrap();
    let mut out = Vec::new();
    assert!(store.read(key("t/0"), ReadRange::Bounded { offset: 1 << 20, len: 5 }, 10, &mut out).unwrap());
    assert_eq!(out, [7; 5]);
    let sent = gone_out.recv().unwrap();
    // what is on its way when the connection is closed fills the buffers of both sides
    assert!(sent > 1 << 20 && sent < len / 2, "{sent}");
    assert_eq!(store.read_into(key("t/0"), 1 << 20, &mut [0; 5]).unwrap().unwrap().object_len, len as u64);
    let sent = gone_out.recv().unwrap();
    assert!(sent < len / 2, "{sent}");
    // were it read, it would be seen
    assert!(store.read(key("t/0"), ReadRange::From(1 << 20), len as u64, &mut out).unwrap());
    assert_eq!(gone_out.recv().unwrap(), len);
}

#[test]
fn redirections_are_followed_as_far_as_is_safe() {
    let target = digits(Ranges::Served);
    let server = server();
    server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), target.url("d.zarr/"))));
    let store = open(&server);
    assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
    assert_eq!(suffix(&store, 2).unwrap().unwrap(), b"89");
    assert_eq!(store.len(key("t/0")).unwrap(), Some(10));
    assert_eq!(read(&store, "t/1").unwrap(), None);

    server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), "/d.zarr/".to_owned())));
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("more than 10 times"), "{error}");
    server
        .configure(|options| options.redirect = Some(("d.zarr/".to_owned(), "ftp://127.0.0.1/".to_owned())));
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("ftp://127.0.0.1/t/0"), "{error}");
    // a folder of a file server
    server.configure(|options| options.redirect = Some(("d.zarr/t".to_owned(), "/d.zarr/t/".to_owned())));
    assert_eq!(read(&store, "t").unwrap(), None);
    assert_eq!(store.len(key("t")).unwrap(), None);
}

#[test]
fn https_is_trusted_by_the_file_of_its_authority_and_never_left_for_http() {
    let authority = Authority::new().unwrap();
    let options = HttpOptions { authority: Some(authority.clone()), ..HttpOptions::default() };
    let server = HttpServer::empty(options).unwrap();
    server.put("d.zarr/t/0", "0123456789");
    let error = read(&open(&server), "t/0").unwrap_err();
    assert!(matches!(error, StoreError::Service { .. }), "{error}");
    assert!(
        error.to_string().contains("not trusted") && error.to_string().contains("(tried once)"),
        "{error}"
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    authority.write(&file).unwrap();
    let mut config = config(server.url("d.zarr"));
    config.remote.ca_file = Some(file.clone());
    let store = HttpStore::open(config.clone()).unwrap();
    assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");

    let plain = digits(Ranges::Served);
    server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), plain.url("d.zarr/"))));
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("from https to http"), "{error}");
    assert_eq!(plain.total(), 0);

    fs::write(&file, "no certificate").unwrap();
    let error = HttpStore::open(config.clone()).unwrap_err();
    assert!(matches!(error, StoreError::InvalidOptions { .. }), "{error}");
    assert!(error.to_string().contains("ca.pem"), "{error}");
    fs::remove_file(&file).unwrap();
    let error = HttpStore::open(config).unwrap_err().to_string();
    assert!(error.contains("ca.pem") && error.contains("No such file"), "{error}");
}

#[test]
fn invalid_urls_and_proxies_are_refused_when_opening() {
    for url in ["data.zarr", "s3://bucket/key", "http://", "http://127.0.0.1/x#mode=zarr"] {
        let error = HttpStore::open(HttpConfig::new(url)).unwrap_err();
        assert!(matches!(error, StoreError::InvalidOptions { .. }), "{error}");
    }
    for proxy in ["proxy.example", "ftp://h", "http://"] {
        let mut config = config("http://127.0.0.1/x");
        config.proxy = Some(proxy.to_owned());
        let error = HttpStore::open(config).unwrap_err();
        assert!(matches!(error, StoreError::InvalidOptions { .. }), "{error}");
    }
}

#[test]
fn requests_pass_the_proxy_that_is_named() {
    // what a proxy gets is the whole URL; to the test server it is a path like any other
    let proxy = digits(Ranges::Served);
    proxy.put("d.zarr/x", "by proxy");
    let mut config = config("http://nowhere.invalid/d.zarr");
    config.proxy = Some(proxy.endpoint());
    let store = HttpStore::open(config).unwrap();
    assert_eq!(read(&store, "x").unwrap().unwrap(), b"by proxy");
    assert_eq!(proxy.requests()[0].host.as_deref(), Some("nowhere.invalid"));
}
