//! Servers whose answers do not end, or hardly come: every read ends in bounded time and memory, and says why.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ncz::store::StoreError;
use ncz::store::http::HttpStore;

use super::setup::{config, read};

/// A server that answers each request with a head and then with what `body` writes; its URL, and how many requests came.
fn server(
    head: &'static str,
    body: impl Fn(&mut TcpStream) -> std::io::Result<()> + Clone + Send + 'static,
) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicU32::new(0));
    let asked = Arc::clone(&count);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (body, asked) = (body.clone(), Arc::clone(&asked));
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
                asked.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(head.as_bytes()).and_then(|()| body(&mut stream));
            });
        }
    });
    (format!("http://127.0.0.1:{port}/d.zarr"), count)
}

fn for_ever(stream: &mut TcpStream) -> std::io::Result<()> {
    loop {
        stream.write_all(b"10000\r\n")?;
        stream.write_all(&[0; 0x10000])?;
        stream.write_all(b"\r\n")?;
    }
}

/// The error of a read, which must come soon.
fn error(url: String, idle: Duration) -> StoreError {
    let mut config = config(url);
    config.remote.idle_timeout = idle;
    let begun = Instant::now();
    let error = read(&HttpStore::open(config).unwrap(), "t/0").unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}: {error}", begun.elapsed());
    error
}

#[test]
fn a_compressed_answer_that_never_ends_is_refused_at_its_head() {
    for status in ["200 OK", "206 Partial Content"] {
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n");
        let (url, asked) = server(Box::leak(head.into_boxed_str()), for_ever);
        let text = error(url, Duration::from_secs(5)).to_string();
        assert!(
            text.contains("compressed (content encoding \"gzip\")") && text.contains("tried once"),
            "{text}"
        );
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn an_answer_without_end_or_length_is_ended_at_the_limit_of_the_read() {
    let (url, asked) = server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", for_ever);
    let error = error(url, Duration::from_secs(5));
    assert!(matches!(error, StoreError::TooLarge { limit: 1_048_576, .. }), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn an_answer_that_drips_is_given_up_though_it_is_never_silent() {
    let drip = |stream: &mut TcpStream| {
        loop {
            stream.write_all(b"x")?;
            thread::sleep(Duration::from_millis(100));
        }
    };
    let (url, asked) = server("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", drip);
    let text = error(url, Duration::from_millis(500)).to_string();
    assert!(text.contains("is too slow") && text.contains("bytes in 1."), "{text}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_server_that_says_nothing_is_asked_twice_whatever_the_number_of_tries() {
    let silent = |_: &mut TcpStream| {
        thread::sleep(Duration::from_secs(60));
        Ok(())
    };
    for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234"] {
        let (url, asked) = server(head, silent);
        let text = error(url, Duration::from_millis(300)).to_string();
        assert!(text.contains("stopped responding") && text.contains("tried 2 times"), "{text}");
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn an_endless_answer_is_aborted() {
    let head =
        "HTTP/1.1 302 Found\r\nLocation: /d.zarr/again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (url, asked) = server(head, |_| Ok(()));
    let text = error(url, Duration::from_secs(5)).to_string();
    assert!(text.contains("redirects more than 10 times"), "{text}");
    assert!(asked.load(Ordering::Relaxed) <= 11);
}
