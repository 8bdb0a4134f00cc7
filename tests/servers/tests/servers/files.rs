use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ncz_test_servers::{Authority, Fault, Gzip, HttpOptions, HttpServer, Missing, Operation, Ranges, Rule};
use reqwest::{Certificate, Client, Response};

use crate::client::{block, http};

fn server(options: HttpOptions) -> HttpServer {
    let server = HttpServer::empty(options).unwrap();
    server.put("set/.zgroup", "0123456789");
    server
}

fn client() -> Client {
    http().build().unwrap()
}

async fn ranged(server: &HttpServer, range: &str) -> Response {
    client().get(server.url("set/.zgroup")).header("range", range).send().await.unwrap()
}

/// Status, `Content-Range`, body.
async fn parts(answer: Response) -> (u16, Option<String>, String) {
    let range = answer.headers().get("content-range").map(|range| range.to_str().unwrap().to_owned());
    (answer.status().as_u16(), range, answer.text().await.unwrap())
}

fn of(status: u16, range: Option<&str>, body: &str) -> (u16, Option<String>, String) {
    (status, range.map(str::to_owned), body.to_owned())
}

#[test]
fn files_come_whole_and_in_parts() {
    let server = server(HttpOptions::default());
    block(async {
        let whole = client().get(server.url("set/.zgroup")).send().await.unwrap();
        assert_eq!(whole.headers()["accept-ranges"], "bytes");
        assert_eq!(whole.headers()["content-type"], "application/json");
        assert_eq!(parts(whole).await, of(200, None, "0123456789"));
        assert_eq!(parts(ranged(&server, "bytes=2-4").await).await, of(206, Some("bytes 2-4/10"), "234"));
        assert_eq!(parts(ranged(&server, "bytes=-3").await).await, of(206, Some("bytes 7-9/10"), "789"));
        assert_eq!(parts(ranged(&server, "bytes=10-").await).await, of(416, Some("bytes */10"), ""));
        let head = client().head(server.url("set/.zgroup")).send().await.unwrap();
        assert_eq!(head.headers()["content-length"], "10");
        let folder = client().get(server.url("set/")).send().await.unwrap();
        assert_eq!(folder.status(), 404);
        assert_eq!(client().put(server.url("x")).body("1").send().await.unwrap().status(), 405);
    });
    assert_eq!((server.count(Operation::Get), server.count(Operation::Head)), (5, 1));
}

#[test]
fn servers_treat_ranges_in_their_ways() {
    let server = server(HttpOptions::default());
    let ways = [
        (Ranges::Ignored, of(200, None, "0123456789"), of(200, None, "0123456789")),
        (Ranges::Declined, of(200, None, "0123456789"), of(200, None, "0123456789")),
        (
            Ranges::WrongContentRange,
            of(206, Some("bytes 3-5/10"), "234"),
            of(206, Some("bytes 8-10/10"), "789"),
        ),
        (Ranges::NoContentRange, of(206, None, "234"), of(206, None, "789")),
        (Ranges::NoSuffix, of(206, Some("bytes 2-4/10"), "234"), of(416, Some("bytes */10"), "")),
    ];
    for (ranges, within, suffix) in ways {
        server.configure(|options| options.ranges = ranges);
        assert_eq!(block(async { parts(ranged(&server, "bytes=2-4").await).await }), within, "{ranges:?}");
        assert_eq!(block(async { parts(ranged(&server, "bytes=-3").await).await }), suffix, "{ranges:?}");
    }
}

#[test]
fn what_is_missing_looks_different_on_each_server() {
    let server = server(HttpOptions::default());
    let ways =
        [(Missing::NotFound, 404), (Missing::Forbidden, 403), (Missing::Gone, 410), (Missing::Page, 200)];
    for (missing, status) in ways {
        server.configure(|options| options.missing = missing);
        let answer = block(async { client().get(server.url("none")).send().await.unwrap() });
        assert_eq!(answer.status(), status);
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    }
}

#[test]
fn who_brings_no_password_or_token_gets_nothing() {
    let server = server(HttpOptions {
        basic_auth: Some(("user".into(), "pass:word".into())),
        token: Some(("sig".into(), "a b".into())),
        ..HttpOptions::default()
    });
    block(async {
        let ask = async |url: &str, password: Option<&str>| {
            let request = client().get(server.url(url));
            let request = if password.is_some() { request.basic_auth("user", password) } else { request };
            request.send().await.unwrap().status().as_u16()
        };
        assert_eq!(ask("set/.zgroup?sig=a%20b", Some("pass:word")).await, 200);
        assert_eq!(ask("set/.zgroup?sig=a%20b", Some("other")).await, 401);
        assert_eq!(ask("set/.zgroup?sig=a%20b", None).await, 401);
        assert_eq!(ask("set/.zgroup?sig=b", Some("pass:word")).await, 403);
        assert_eq!(ask("set/.zgroup", Some("pass:word")).await, 403);
    });
}

#[test]
fn redirects_lead_to_another_path_or_another_server() {
    let other = server(HttpOptions::default());
    let server =
        server(HttpOptions { redirect: Some(("old/".into(), "/set/".into())), ..HttpOptions::default() });
    let get = |url: String| block(async { client().get(url).send().await.unwrap().text().await.unwrap() });
    assert_eq!(get(server.url("old/.zgroup")), "0123456789");
    server.configure(|options| options.redirect = Some(("old/".into(), other.url("set/"))));
    assert_eq!(get(server.url("old/.zgroup")), "0123456789");
    assert_eq!((server.count(Operation::Get), other.count(Operation::Get)), (3, 1));
}

#[test]
fn compressed_bodies_say_that_they_are() {
    let server = server(HttpOptions { gzip: Gzip::Accepted, ..HttpOptions::default() });
    let decoding = client();
    let plain = http().no_gzip().build().unwrap();
    block(async {
        assert_eq!(
            decoding.get(server.url("set/.zgroup")).send().await.unwrap().text().await.unwrap(),
            "0123456789"
        );
        let asked = plain.get(server.url("set/.zgroup")).send().await.unwrap();
        assert!(!asked.headers().contains_key("content-encoding"));
        server.configure(|options| options.gzip = Gzip::Always);
        let forced = plain.get(server.url("set/.zgroup")).send().await.unwrap();
        assert_eq!(forced.headers()["content-encoding"], "gzip");
        assert_eq!(&forced.bytes().await.unwrap()[..2], b"\x1f\x8b");
    });
}

#[test]
fn faults_and_https_are_those_of_all_servers() {
    let authority = Authority::new().unwrap();
    let server = server(HttpOptions { authority: Some(authority.clone()), ..HttpOptions::default() });
    let certificate = Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = http().tls_certs_only([certificate]).build().unwrap();
    server.fail(Rule::new(Fault::slow_down()).nth(1));
    server.fail(Rule::new(Fault::Reset).nth(2));
    server.fail(Rule::new(Fault::ShortBody { missing: 2 }).nth(3));
    server.set_latency(Duration::from_millis(5));
    block(async {
        let get = async || client.get(server.url("set/.zgroup")).send().await;
        assert_eq!(get().await.unwrap().status(), 503);
        assert!(get().await.is_err());
        assert!(get().await.unwrap().bytes().await.is_err());
        assert_eq!(get().await.unwrap().text().await.unwrap(), "0123456789");
    });
    assert_eq!(server.faults(), 3);
}

#[test]
fn a_reset_is_not_an_orderly_end() {
    let server = server(HttpOptions::default());
    let read = |fault| {
        server.heal();
        server.fail(Rule::new(fault));
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"GET /set/.zgroup HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        let end = stream.read_to_string(&mut answer).map_err(|error| error.kind());
        (answer.ends_with("\r\n\r\n01234567"), end.err())
    };
    assert_eq!(read(Fault::ShortBody { missing: 2 }), (true, None));
    assert_eq!(read(Fault::Reset), (false, Some(ErrorKind::ConnectionReset)));
    assert_eq!(read(Fault::ResetInBody { after: 8 }).1, Some(ErrorKind::ConnectionReset));
    assert_eq!(server.requests()[2].sent, 8);
}
