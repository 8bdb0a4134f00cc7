//! A server, and a store on it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ncz::store::http::{HttpConfig, HttpStore};
use ncz::store::{Key, Store, StoreError, StoreExt};
use ncz_test_servers::{HttpOptions, HttpServer, Operation, Ranges};

/// A server without files.
pub(crate) fn server() -> HttpServer {
    HttpServer::empty(HttpOptions::default()).unwrap()
}

/// A server whose only object `t/0` holds `0123456789`.
pub(crate) fn digits(ranges: Ranges) -> HttpServer {
    let server = HttpServer::empty(HttpOptions { ranges, ..HttpOptions::default() }).unwrap();
    server.put("d.zarr/t/0", "0123456789");
    server
}

/// How to reach a dataset on this machine, and with short pauses.
pub(crate) fn config(url: impl Into<String>) -> HttpConfig {
    let mut config = HttpConfig::new(url);
    config.proxy = Some(String::new());
    config.remote.first_pause = Duration::from_millis(2);
    config
}

/// The dataset `d.zarr` of a server.
pub(crate) fn open(server: &HttpServer) -> HttpStore {
    HttpStore::open(config(server.url("d.zarr"))).unwrap()
}

pub(crate) fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}

/// Reads an object of at most 1 MiB.
pub(crate) fn read(store: &dyn Store, text: &str) -> Result<Option<Vec<u8>>, StoreError> {
    store.read_vec(key(text), 1 << 20)
}

/// How many GETs and HEADs came since the last time.
pub(crate) fn asked(server: &HttpServer) -> (u64, u64) {
    let counts = (server.count(Operation::Get), server.count(Operation::Head));
    assert_eq!(counts.0 + counts.1, server.total());
    server.reset_counts();
    counts
}

/// A server that gives every request the same answer, byte for byte; its URL.
pub(crate) fn always(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    format!("http://127.0.0.1:{port}/d.zarr")
}

/// A server without ranges that answers everything with `len` bytes, as long as somebody takes them; its URL, and how
/// many went out for each request.
pub(crate) fn flood(len: usize) -> (String, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sent, gone_out) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n");
            let _ = (&stream).write_all(head.as_bytes());
            let mut out = 0;
            while out < len {
                let Ok(more) = (&stream).write(&[7; 1 << 16][..(len - out).min(1 << 16)]) else { break };
                out += more;
            }
            let _ = sent.send(out);
        }
    });
    (format!("http://127.0.0.1:{port}/d.zarr"), gone_out)
}
