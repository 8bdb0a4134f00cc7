//! Answers that are not what they seem, of services and of what is before them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};

use ncz_store::ReadRequest;

use super::*;

#[test]
fn a_length_that_must_be_asked_for_takes_no_turn_from_itself() {
    let server = server();
    server.put("air", "a.zarr/e", "0123456789");
    let mut config = config(&server);
    config.remote.in_flight = 1;
    let store = S3Store::open(config, Access::Read).unwrap();
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        // this server does not return the length with a 416
        let mut room = [0; 4];
        let into = store.read_into(key("e"), 10, &mut room).unwrap().unwrap();
        let mut out = Vec::new();
        let found = store.read(key("e"), ReadRange::From(10), 10, &mut out).unwrap();
        done.send((into.filled, into.object_len, found, out)).unwrap();
    });
    let found = wait.recv_timeout(Duration::from_secs(20)).expect("it waits for itself");
    assert_eq!(found, (0, 10, true, Vec::new()));
}

#[test]
fn an_empty_404_to_a_get_is_not_a_missing_object() {
    let gateway =
        Raw::start(|_| "HTTP/1.1 404 Not Found\r\nServer: gateway\r\nContent-Length: 0\r\n\r\n".to_owned());
    let store = gateway.open();
    let mut out = Vec::new();
    for failure in [
        store.read_vec(key("t/0"), 100).map(drop),
        store.read(key("t/0"), ReadRange::Suffix(4), 100, &mut out).map(drop),
        store.read_into(key("t/0"), 0, &mut [0; 4]).map(drop),
        store.delete(key("t/0")).map(drop),
    ] {
        let text = failure.unwrap_err().to_string();
        assert!(text.contains("an empty answer 404") && text.contains("tried 2 times"), "{text}");
    }
    assert_eq!(gateway.methods(), ["GET"; 8]);
    // an answer to HEAD is always empty
    assert_eq!(store.len(key("t/0")).unwrap(), None);
}

#[test]
fn an_empty_404_to_a_delete_is_not_success() {
    let gateway = Raw::start(|head| match head.starts_with("GET") {
        true => "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\nx"
            .to_owned(),
        false => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
    });
    let text = gateway.open().delete(key("t/0")).unwrap_err().to_string();
    assert!(text.contains("an empty answer 404") && text.contains("tried 2 times"), "{text}");
}

#[test]
fn what_is_done_is_done_however_its_answer_came() {
    for fault in [Fault::ShortBody { missing: 5 }, Fault::ResetInBody { after: 10 }, Fault::LoseAnswer] {
        for mode in [WriteMode::CreateNew, WriteMode::Replace] {
            let server = server();
            let mut config = config(&server);
            config.part_size = 5 << 20;
            let store = S3Store::open(config, Access::ReadWrite).unwrap();
            server.fail(Rule::new(fault.clone()).operation(Operation::CompleteMultipartUpload).first(1));
            store
                .write(key("big"), &vec![7; 6 << 20], mode)
                .unwrap_or_else(|error| panic!("{fault}: {error}"));
            assert_eq!(server.object("air", "a.zarr/big").unwrap().len(), 6 << 20, "{fault}");
        }
    }
}

#[test]
fn a_gateway_that_is_busy_may_have_passed_the_request_on() {
    let writer: Mutex<Option<String>> = Mutex::new(None);
    let gateway = Raw::start(move |head| {
        let mut writer = writer.lock().unwrap();
        let stamp = head.lines().find(|line| line.starts_with("x-amz-meta-ncz-writer"));
        match (&*writer, stamp) {
            (None, Some(stamp)) => {
                *writer = Some(stamp.to_owned());
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_owned()
            }
            (Some(_), Some(_)) => "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n".to_owned(),
            (Some(stamp), None) => format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n{stamp}\r\n\r\n"),
            (None, None) => panic!("{head}"),
        }
    });
    gateway.open().write(key("lock"), b"mine", WriteMode::CreateNew).unwrap();
    assert_eq!(gateway.methods(), ["PUT", "PUT", "HEAD"]);
}

#[test]
fn all_of_many_first_requests_find_the_bucket_in_its_region() {
    let options = S3Options {
        region: Some("eu-west-3".to_owned()),
        buckets: vec!["air".to_owned()],
        ..S3Options::default()
    };
    let server = S3Server::start(options).unwrap();
    let keys: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    for key in &keys {
        server.put("air", &format!("a.zarr/{key}"), "x");
    }
    server.set_latency(Duration::from_millis(100));
    let requests: Vec<_> =
        keys.iter().map(|text| ReadRequest { key: key(text), range: ReadRange::All, max_len: 10 }).collect();
    let found = Mutex::new(0);
    open(&server).read_many(&requests, &|index, answer| {
        assert_eq!(answer.unwrap_or_else(|error| panic!("{index}: {error}")).unwrap(), b"x");
        *found.lock().unwrap() += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(*found.lock().unwrap(), 8);
}

#[test]
fn a_part_that_does_not_say_which_it_is_is_not_taken() {
    let server = server();
    server.put("air", "a.zarr/e", "0123456789");
    let mut config = config(&server);
    config.remote.attempts = 2;
    let store = S3Store::open(config, Access::Read).unwrap();
    server.fail(Rule::new(Fault::Header("content-range".to_owned(), None)).operation(Operation::GetObject));
    let mut out = Vec::new();
    for failure in [
        store.read_into(key("e"), 2, &mut [0; 4]).map(drop),
        store.read_into(key("e"), 0, &mut [0; 4]).map(drop),
        store.read_end_into(key("e"), &mut [0; 4]).map(drop),
        store.read(key("e"), ReadRange::Suffix(4), 10, &mut out).map(drop),
        store.read(key("e"), ReadRange::From(1), 10, &mut out).map(drop),
        store.read(key("e"), ReadRange::Bounded { offset: 0, len: 4 }, 10, &mut out).map(drop),
    ] {
        let text = failure.unwrap_err().to_string();
        assert!(text.contains("does not say which bytes") && text.contains("tried 2 times"), "{text}");
    }
    assert_eq!(store.read_vec(key("e"), 10).unwrap().unwrap(), b"0123456789");
    server.heal();
    // the last bytes of nothing, which are all of it
    server.put("air", "a.zarr/empty", "");
    assert_eq!(store.read_end_into(key("empty"), &mut [0; 4]).unwrap().unwrap().object_len, 0);
    // a service without ranges returns the whole object
    let service = Raw::start(|_| "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789".to_owned());
    let mut room = [0; 4];
    let read = service.open().read_into(key("e"), 2, &mut room).unwrap().unwrap();
    assert_eq!((read.filled, read.object_len, &room), (4, 10, b"2345"));
}

/// A service that answers by only the head of the request.
struct Raw {
    endpoint: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (mut connection, seen, answer) =
                    (connection.unwrap(), Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || {
                    while let Some(head) = head(&mut connection) {
                        let answer = answer(&head);
                        seen.lock().unwrap().push(head);
                        connection.write_all(answer.as_bytes()).unwrap();
                    }
                });
            }
        });
        Self { endpoint, heads }
    }

    fn open(&self) -> S3Store {
        let mut config = S3Config::new("air", "a.zarr")
            .with_endpoint(&self.endpoint)
            .with_credentials(Credentials::Anonymous);
        config.remote.first_pause = Duration::from_millis(1);
        config.remote.attempts = 2;
        S3Store::open(config, Access::ReadWrite).unwrap()
    }

    fn methods(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        heads.iter().map(|head| head.split(' ').next().unwrap().to_owned()).collect()
    }
}

/// Reads a request; `None` at the end of the connection.
fn head(connection: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if connection.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).ok()?;
    Some(head)
}
