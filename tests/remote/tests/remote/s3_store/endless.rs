//! Services whose lists do not end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use ncz_store::s3::{Credentials, S3Config, S3Store};
use ncz_store::{Access, Depth, Prefix, Secret, Store, StoreError};

/// A service that answers the n-th request for a list with what `page` makes of n.
fn service(page: impl Fn(u64) -> String + Send + 'static) -> S3Store {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (n, stream) in (0..).zip(listener.incoming().map_while(Result::ok)) {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let body = page(n);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body.as_bytes()));
        }
    });
    let mut config =
        S3Config::new("air", "a.zarr").with_endpoint(endpoint).with_credentials(Credentials::Keys {
            id: "id".to_owned(),
            secret: Secret::new("secret".to_owned()),
            token: None,
        });
    config.region = Some("us-east-1".to_owned());
    config.remote.first_pause = Duration::from_millis(1);
    config.remote.attempts = 2;
    S3Store::open(config, Access::Read).unwrap()
}

fn page(names: &[&str], token: &str) -> String {
    let names: String = names
        .iter()
        .map(|name| format!("<Contents><Key>a.zarr/{name}</Key><Size>1</Size></Contents>"))
        .collect();
    format!(
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated>{names}\
         <NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
    )
}

fn error(store: &S3Store) -> StoreError {
    let begun = Instant::now();
    let error = store.list(Prefix::ROOT, Depth::All, 5000).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}: {error}", begun.elapsed());
    error
}

#[test]
fn continuation_tokens_that_come_again_end_the_list() {
    let cycle = service(|n| page(&["x"], if n % 2 == 0 { "one" } else { "two" }));
    let text = error(&cycle).to_string();
    assert!(text.contains("the list does not go on: the same continuation token came again"), "{text}");
    let empty = service(|n| page(&[], &format!("t{n}")));
    let text = error(&empty).to_string();
    assert!(text.contains("the list does not go on: 1000 pages without a name"), "{text}");
}

#[test]
fn names_that_repeat_forever_end_the_list() {
    let same: Vec<String> = (0..1000).map(|n| format!("k{n}")).collect();
    let store =
        service(move |n| page(&same.iter().map(String::as_str).collect::<Vec<_>>(), &format!("t{n}")));
    assert!(matches!(error(&store), StoreError::TooManyEntries { limit: 5000, .. }));
}

#[test]
fn a_list_that_is_too_long_for_one_answer_is_not_read_to_its_end() {
    let long = page(&["x"], "t").replace("<Size>", &format!("<!--{}--><Size>", "-".repeat(40 << 20)));
    let text = error(&service(move |_| long.clone())).to_string();
    assert!(text.contains("limit"), "{text}");
}
