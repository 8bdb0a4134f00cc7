//! Temporary and permanent failures of the network.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ncz::store::http::HttpStore;
use ncz::store::{ReadRange, Store, StoreError};
use ncz_remote_tests::{client, explained};
use ncz_test_servers::{Fault, Ranges, Refusal, Rule};

use super::setup::{config, digits, key, open, read};

/// What may pass.
fn passing() -> Vec<Fault> {
    let mut all = vec![
        Fault::Reset,
        Fault::LoseAnswer,
        Fault::ResetInBody { after: 4 },
        Fault::ShortBody { missing: 1 },
        Fault::ShortBody { missing: 10 },
    ];
    all.extend([408, 429, 500, 502, 503, 504].map(|status| Fault::answer(status, "Fault", "of a test")));
    all
}

#[test]
fn what_passes_is_tried_again_and_what_stays_is_an_error_after_all_tries() {
    for ranges in [Ranges::Served, Ranges::Ignored] {
        let server = digits(ranges);
        let store = open(&server);
        for fault in passing() {
            for range in [ReadRange::All, ReadRange::Bounded { offset: 0, len: 10 }, ReadRange::Suffix(10)] {
                server.fail(Rule::new(fault.clone()).first(4));
                let mut out = Vec::new();
                let found = store.read(key("t/0"), range, 10, &mut out);
                assert!(found.unwrap_or_else(|error| panic!("{fault} {range}: {error}")));
                assert_eq!(out, b"0123456789", "{fault} {range}");
                server.heal();
            }
            server.reset_counts();
            server.fail(Rule::new(fault.clone()));
            let mut out = Vec::with_capacity(10);
            let error = store.read(key("t/0"), ReadRange::All, 10, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Service { .. }), "{fault}: {error}");
            assert!(error.to_string().contains("tried 5 times in"), "{fault}: {error}");
            assert!(out.is_empty());
            assert_eq!(server.total(), 5, "{fault}");
            let mut into = [0; 10];
            assert!(store.read_into(key("t/0"), 0, &mut into).is_err(), "{fault}");
            server.heal();
            assert_eq!(store.read_into(key("t/0"), 0, &mut into).unwrap().unwrap().filled, 10);
            assert_eq!(&into, b"0123456789");
        }
    }
}

#[test]
fn what_does_not_pass_is_not_tried_again() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    for status in [400, 405, 412, 418, 501, 505] {
        server.fail(Rule::new(Fault::answer(status, "Fault", "of a test")));
        let error = read(&store, "t/0").unwrap_err();
        assert!(matches!(error, StoreError::Service { .. }), "{error}");
        assert!(error.to_string().contains(&format!("(tried once): the server answers {status}")), "{error}");
        server.heal();
    }
    assert_eq!(server.total(), 6);
}

#[test]
fn a_reasonable_retry_after_is_respected() {
    let server = digits(Ranges::Served);
    let store = open(&server);
    let refusal = |seconds: &str| {
        Fault::Answer(Refusal::new(503, "SlowDown", "of a test").header("Retry-After", seconds))
    };
    server.fail(Rule::new(refusal("1")).first(1));
    let begun = Instant::now();
    assert!(read(&store, "t/0").unwrap().is_some());
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    server.heal();
    server.fail(Rule::new(refusal("3600")));
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("tried once") && error.contains("3600 s"), "{error}");
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let server = digits(Ranges::Served);
    let mut config = config(server.url("d.zarr"));
    config.remote.idle_timeout = Duration::from_millis(200);
    config.remote.attempts = 2;
    let store = HttpStore::open(config).unwrap();
    server.fail(Rule::new(Fault::Hang));
    let error = read(&store, "t/0").unwrap_err().to_string();
    assert!(error.contains("stopped responding") && error.contains("tried 2 times"), "{error}");
    server.heal();
    // slow is not silent
    server.fail(Rule::new(Fault::Trickle { bytes: 1, every: Duration::from_millis(50) }));
    assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let store = HttpStore::open(config(format!("http://127.0.0.1:{port}/d.zarr"))).unwrap();
    let error = read(&store, "t/0").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("tried 2 times in"), "{text}");
    assert!(text.contains("no connection") && text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(error.source().is_some(), "what led to it is kept");
    assert_eq!(error.netcdf_code(), -138);
    let store = HttpStore::open(config("http://nowhere.invalid/d.zarr")).unwrap();
    let text = read(&store, "t/0").unwrap_err().to_string();
    assert!(text.contains("nowhere.invalid") && text.contains("tried 2 times in"), "{text}");
}

#[test]
fn a_server_that_was_there_and_is_away_for_a_moment_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |listener: TcpListener| {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut lines = BufReader::new(&stream).lines();
        while !lines.next().unwrap().unwrap().is_empty() {}
        (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
    };
    let mut config = config(format!("http://{address}/d.zarr"));
    config.remote.attempts = 40;
    config.remote.first_pause = Duration::from_millis(50);
    let store = HttpStore::open(config).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            answer(listener);
            thread::sleep(Duration::from_millis(500));
            answer(TcpListener::bind(address).unwrap());
        });
        assert!(read(&store, "t/0").unwrap().is_some());
        assert!(read(&store, "t/0").unwrap().is_some());
    });
}

#[test]
fn a_dataset_is_given_up_at_the_first_document_that_the_server_fails_to_give() {
    let server = digits(Ranges::Served);
    server.put("d.zarr/zarr.json", "{}");
    // both have been requested when one fails
    server.set_latency(Duration::from_millis(200));
    let slow = Fault::Delay(Duration::from_secs(1));
    server.fail(Rule::new(slow).keys(|key| key.ends_with("zarr.json")));
    server.fail(Rule::new(Fault::answer(400, "Fault", "of a test")).keys(|key| key.ends_with(".zmetadata")));
    let error = client::open(Arc::new(open(&server))).unwrap_err();
    let text = explained(&error);
    assert!(text.contains(".zmetadata") && text.contains("400"), "{text}");
    let of = |name| server.requests().iter().filter(|request| request.key.as_deref() == Some(name)).count();
    assert_eq!(of("d.zarr/.zmetadata"), 1);
    assert!(of("d.zarr/zarr.json") < 2, "{:#?}", server.requests());
}
