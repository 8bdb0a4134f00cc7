//! Passwords and tokens: where they are sent, and where they never appear.

use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ncz::store::Secret;
use ncz::store::http::{HttpConfig, HttpStore};
use ncz::store::{Depth, Prefix, ReadRange, Store, StoreError, WriteMode};
use ncz_test_servers::{Fault, HttpOptions, HttpServer, Ranges, Rule};
use tracing_subscriber::filter::LevelFilter;

use super::setup::{config, digits, key, read};

const PASSWORD: &str = "pa55+word";
const TOKEN: &str = "t0ken-value";

fn guarded() -> HttpServer {
    let options = HttpOptions {
        basic_auth: Some(("somebody".to_owned(), PASSWORD.to_owned())),
        token: Some(("token".to_owned(), TOKEN.to_owned())),
        ..HttpOptions::default()
    };
    let server = HttpServer::empty(options).unwrap();
    server.put("d.zarr/t/0", "0123456789");
    server
}

fn url(server: &HttpServer) -> String {
    format!("http://somebody:{PASSWORD}@{}/d.zarr?token={TOKEN}", server.address())
}

#[test]
fn user_password_and_query_go_with_every_request() {
    let server = guarded();
    let store = HttpStore::open(config(url(&server))).unwrap();
    assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
    assert_eq!(store.len(key("t/0")).unwrap(), Some(10));
    store.read(key("t/0"), ReadRange::Suffix(3), 10, &mut Vec::new()).unwrap();
    let query = format!("token={TOKEN}");
    assert!(server.requests().iter().all(|request| request.query.as_deref() == Some(&query)));

    let mut given = config(format!("http://{}/d.zarr?token={TOKEN}", server.address()));
    given.user = Some(("somebody".to_owned(), Secret::new(PASSWORD)));
    assert!(read(&HttpStore::open(given.clone()).unwrap(), "t/0").unwrap().is_some());
    given.user = Some(("somebody".to_owned(), Secret::new("wrong")));
    let error = read(&HttpStore::open(given).unwrap(), "t/0").unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("does not accept"), "{error}");
}

#[test]
fn another_server_gets_none_of_them() {
    let other = digits(Ranges::Served);
    // it would let in everyone with the password
    other.configure(|options| options.basic_auth = Some(("somebody".to_owned(), PASSWORD.to_owned())));
    let server = guarded();
    server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), other.url("d.zarr/"))));
    let store = HttpStore::open(config(url(&server))).unwrap();
    let error = read(&store, "t/0").unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert_eq!(other.requests().len(), 1);
    assert_eq!(other.requests()[0].query, None);
    other.configure(|options| options.basic_auth = None);
    assert!(read(&store, "t/0").unwrap().is_some());

    // a server that hands them on itself
    let handed = format!("{}?token={TOKEN}&path=", other.url("get"));
    server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), handed)));
    other.reset_counts();
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("another server"), "{error}");
    assert_eq!(other.total(), 0);

    // the same server keeps getting them
    server.configure(|options| {
        options.redirect = Some(("d.zarr/old/".to_owned(), format!("/d.zarr/t/0?token={TOKEN}&was=")))
    });
    assert!(read(&store, "old/1").unwrap().is_some());
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = format!("{error}\n{error:?}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!("{error}\n{error:?}\n");
        cause = error.source();
    }
    text
}

/// The store's threads write to the log as well, so it must be that of the whole process; nextest gives each test one,
/// and under `cargo test` it only has more lines.
#[test]
fn they_are_seen_in_no_message_and_no_log() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .try_init()
        .unwrap();
    let server = guarded();
    let config = config(url(&server));
    let store = HttpStore::open(config.clone()).unwrap();
    let mut said = format!("{store} {store:?} {config} {config:?}\n");
    assert_eq!(store.to_string(), server.url("d.zarr"));
    let mut fails = |fault: Fault| {
        server.fail(Rule::new(fault));
        for error in [
            read(&store, "t/0").unwrap_err(),
            store.len(key("t/0")).unwrap_err(),
            store.read_into(key("t/0"), 0, &mut [0; 3]).unwrap_err(),
            store.read(key("t/0"), ReadRange::Suffix(3), 10, &mut Vec::new()).unwrap_err(),
        ] {
            said += &chain(&error);
        }
        server.heal();
    };
    for fault in [
        Fault::Reset,
        Fault::answer(500, "InternalError", "of a test"),
        Fault::answer(401, "Unauthorized", "of a test"),
        Fault::answer(403, "Forbidden", "of a test"),
        Fault::answer(302, "Found", "to nowhere"),
        Fault::Header("content-encoding".to_owned(), Some("br".to_owned())),
        Fault::Header("content-type".to_owned(), Some("text/html".to_owned())),
    ] {
        fails(fault);
    }
    for location in [
        format!("http://127.0.0.1:1/x?token={TOKEN}&x="),
        format!("ftp://somebody:{PASSWORD}@h/?token={TOKEN}"),
    ] {
        server.configure(|options| options.redirect = Some(("d.zarr/".to_owned(), location)));
        said += &chain(&read(&store, "t/0").unwrap_err());
    }
    server.configure(|options| options.redirect = None);
    said += &chain(&store.list(Prefix::ROOT, Depth::One, 1).unwrap_err());
    said += &chain(&store.write(key("a"), b"1", WriteMode::Replace).unwrap_err());
    assert!(read(&store, "t/0").unwrap().is_some());
    for bad in [format!("{}#x", url(&server)), format!("http://somebody:{PASSWORD}@:80?{TOKEN}")] {
        said += &chain(&HttpStore::open(HttpConfig::new(bad)).unwrap_err());
    }
    let mut proxied = config.clone();
    proxied.proxy = Some(format!("ftp://somebody:{PASSWORD}@proxy"));
    said += &format!("{proxied:?}");
    said += &chain(&HttpStore::open(proxied).unwrap_err());

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let address = server.address().to_string();
    let of_store = |level: &str, what: &str| {
        let level = format!("{level} ncz_store::http");
        let fits = |line: &&str| line.contains(&level) && line.contains(what) && line.contains(&address);
        logged.lines().find(fits).unwrap_or_else(|| panic!("no line with {what}")).to_owned()
    };
    let line = of_store("DEBUG", "bytes=10 ");
    for part in ["method=\"GET\"", "key=\"t/0\"", "bytes=10", "attempt=1", "ms=", "range=all", "d.zarr"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let line = of_store("INFO", "trying again");
    assert!(line.contains("key=\"t/0\"") && line.contains("pause_ms="), "{line}");
    let ours: String = logged.lines().filter(|line| line.contains("ncz_store")).collect();
    for secret in [PASSWORD, TOKEN, "c29tZWJvZHk6", "pa55%2Bword"] {
        assert!(!said.contains(secret), "{secret}: {said}");
        assert!(!ours.contains(secret), "{secret}");
        // nor do the libraries below say them
        let leak = logged.lines().find(|line| line.contains(secret));
        assert!(leak.is_none(), "{leak:?}");
    }
}
