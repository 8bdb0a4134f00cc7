use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use futures_util::future::join_all;
use ncz_test_servers::{Fault, Operation, Refusal, Rule, S3Options, S3Server};

use crate::client::{block, client, outcome};

const BODY: &[u8] = b"0123456789";

fn server() -> (S3Server, Client) {
    let server = S3Server::start_with("air").unwrap();
    server.put("air", "a", BODY);
    server.put("air", "b", BODY);
    let client = client(&server);
    (server, client)
}

/// The body of an object, or how the question ended; a body that cannot be read to its end is `cut`.
async fn get(client: &Client, key: &str) -> String {
    match client.get_object().bucket("air").key(key).send().await {
        Ok(got) => match got.body.collect().await {
            Ok(body) => String::from_utf8(body.to_vec()).unwrap(),
            Err(_) => "cut".to_owned(),
        },
        error => outcome(&error),
    }
}

async fn put(client: &Client, key: &str) -> String {
    let body = ByteStream::from_static(b"new");
    outcome(&client.put_object().bucket("air").key(key).body(body).send().await)
}

#[test]
fn refusals_on_demand_reach_the_client_with_their_code() {
    let (server, client) = server();
    let faults = [
        (Fault::internal_error(), "500 InternalError"),
        (Fault::slow_down(), "503 SlowDown"),
        (Fault::unavailable(), "503 ServiceUnavailable"),
        (Fault::expired_token(), "400 ExpiredToken"),
        (Fault::invalid_access_key(), "403 InvalidAccessKeyId"),
        (Fault::signature_does_not_match(), "403 SignatureDoesNotMatch"),
        (Fault::access_denied(), "403 AccessDenied"),
        (Fault::no_such_bucket(), "404 NoSuchBucket"),
        (Fault::conflict(), "409 ConditionalRequestConflict"),
        (Fault::moved_to("eu-west-1"), "301 PermanentRedirect"),
        (Fault::signed_for_wrong_region("eu-west-1"), "400 AuthorizationHeaderMalformed"),
    ];
    for (fault, expected) in faults {
        server.fail(Rule::new(fault).first(2));
        assert_eq!(block(get(&client, "a")), expected);
        assert_eq!(block(put(&client, "refused")), expected);
        assert_eq!(block(get(&client, "a")), "0123456789", "after {expected}");
    }
    assert_eq!(server.object("air", "refused"), None, "what is refused is not carried out");
}

#[test]
fn a_refusal_can_bring_headers() {
    let (server, client) = server();
    let refusal = Refusal::new(503, "SlowDown", "later").header("Retry-After", "7");
    server.fail(Rule::new(Fault::Answer(refusal)));
    let error = block(client.get_object().bucket("air").key("a").send()).unwrap_err();
    assert_eq!(error.raw_response().unwrap().headers().get("retry-after"), Some("7"));
}

#[test]
fn a_copy_can_fail_inside_of_an_answer_with_status_200() {
    let (server, client) = server();
    server.fail(Rule::new(Fault::error_inside()).operation(Operation::CopyObject).first(1));
    let copy = || client.copy_object().copy_source("air/a").bucket("air").key("copy").send();
    assert_eq!(outcome(&block(copy())), "200 InternalError");
    assert_eq!(server.object("air", "copy"), None);
    assert_eq!(outcome(&block(copy())), "ok");
    assert_eq!(server.object("air", "copy").unwrap(), BODY);
}

#[test]
fn a_reset_does_nothing_and_a_lost_answer_does_it() {
    let (server, client) = server();
    server.fail(Rule::new(Fault::Reset).key("reset"));
    server.fail(Rule::new(Fault::LoseAnswer).key("lost"));
    assert_eq!(block(put(&client, "reset")), "lost");
    assert_eq!(block(put(&client, "lost")), "lost");
    assert_eq!(server.object("air", "reset"), None);
    assert_eq!(server.object("air", "lost").unwrap(), "new");
    let fates: Vec<_> =
        server.requests().iter().map(|request| (request.status, request.fault.clone())).collect();
    assert_eq!(fates, [(None, Some(Fault::Reset)), (None, Some(Fault::LoseAnswer))]);
}

#[test]
fn bodies_break_off_in_two_ways() {
    let (server, client) = server();
    for fault in
        [Fault::ResetInBody { after: 4 }, Fault::ShortBody { missing: 3 }, Fault::ResetInBody { after: 0 }]
    {
        server.heal();
        server.reset_counts();
        server.fail(Rule::new(fault.clone()));
        let sent = block(async {
            let got = client.get_object().bucket("air").key("a").send().await.unwrap();
            assert_eq!(got.content_length(), Some(10), "{fault}");
            let mut body = got.body;
            let mut seen = Vec::new();
            loop {
                match body.next().await {
                    Some(Ok(piece)) => seen.extend_from_slice(&piece),
                    Some(Err(_)) => break seen,
                    None => panic!("{fault}: the body ended in good order"),
                }
            }
        });
        let expected = match fault {
            Fault::ShortBody { missing } => 10 - missing,
            Fault::ResetInBody { after } => after,
            _ => unreachable!(),
        };
        assert_eq!(sent, &BODY[..expected], "{fault}");
        assert_eq!(server.requests()[0].sent, expected as u64);
    }
}

#[test]
fn answers_come_late_or_never() {
    let (server, client) = server();
    server.fail(Rule::new(Fault::Delay(Duration::from_millis(150))).key("a"));
    server.fail(Rule::new(Fault::Hang).key("hung"));
    let start = Instant::now();
    assert_eq!(block(get(&client, "b")), "0123456789");
    assert_eq!(block(get(&client, "a")), "0123456789");
    assert!(start.elapsed() >= Duration::from_millis(150), "{:?}", start.elapsed());
    let patience = Duration::from_millis(200);
    assert!(block(async { tokio::time::timeout(patience, put(&client, "hung")).await }).is_err());
    assert_eq!(server.object("air", "hung"), None);
    // the client has left, and the server notices
    while server.in_flight() > 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "the request still waits");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(server.requests().last().unwrap().ended.is_some());
}

#[test]
fn a_slow_body_comes_whole() {
    let (server, client) = server();
    server.fail(Rule::new(Fault::Trickle { bytes: 2, every: Duration::from_millis(30) }));
    let start = Instant::now();
    assert_eq!(block(get(&client, "a")), "0123456789");
    assert!(start.elapsed() >= Duration::from_millis(120), "{:?}", start.elapsed());
}

#[test]
fn a_changed_body_is_seen_by_who_checks_sums() {
    let (server, client) = server();
    let body = ByteStream::from_static(BODY);
    block(client.put_object().bucket("air").key("summed").body(body).send()).unwrap();
    assert_eq!(block(get(&client, "summed")), "0123456789");
    server.fail(Rule::new(Fault::CorruptBody));
    assert_eq!(block(get(&client, "summed")), "cut", "the checksum of the answer does not hold");
    assert_eq!(block(get(&client, "a")), "0123446789", "an object of another hand has no checksum");
    let part = block(async {
        let got = client.get_object().bucket("air").key("summed").range("bytes=0-3").send().await.unwrap();
        got.body.collect().await.unwrap().to_vec()
    });
    assert_eq!(part, b"0133", "a part has no checksum");
}

#[test]
fn a_wrong_etag_and_other_headers_on_demand() {
    let (server, client) = server();
    let etag = |server: &S3Server| {
        server.reset_counts();
        block(client.head_object().bucket("air").key("a").send()).unwrap().e_tag().map(str::to_owned)
    };
    let right = etag(&server);
    server.fail(Rule::new(Fault::WrongETag).first(1));
    let wrong = etag(&server);
    assert!(wrong.is_some() && wrong != right);
    server.fail(Rule::new(Fault::Header("ETag".into(), None)).first(1));
    assert_eq!(etag(&server), None);
    assert_eq!(etag(&server), right);
}

#[test]
fn from_the_stop_on_nothing_is_done_until_it_is_healed() {
    let (server, client) = server();
    server.stop_at(2);
    assert_eq!(block(put(&client, "1")), "ok");
    assert_eq!(block(put(&client, "2")), "lost");
    assert_eq!(block(put(&client, "3")), "lost");
    server.heal();
    server.stop_after(1);
    assert_eq!(block(put(&client, "4")), "lost");
    assert_eq!(block(put(&client, "5")), "lost");
    server.heal();
    assert_eq!(block(put(&client, "6")), "ok");
    let keys: Vec<_> = server.objects("air").into_keys().collect();
    assert_eq!(keys, ["1", "4", "6", "a", "b"]);
}

#[test]
fn requests_are_counted_with_what_they_asked_for() {
    let (server, client) = server();
    block(async {
        client.get_object().bucket("air").key("a").range("bytes=-3").send().await.unwrap();
        client.head_object().bucket("air").key("none").send().await.unwrap_err();
        client.list_objects_v2().bucket("air").prefix("a").send().await.unwrap();
    });
    block(put(&client, "c"));
    let counts: Vec<_> = server.counts().into_iter().collect();
    let expected = [
        (Operation::GetObject, 1),
        (Operation::HeadObject, 1),
        (Operation::ListObjectsV2, 1),
        (Operation::PutObject, 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!((server.total(), server.count(Operation::GetObject)), (4, 1));
    let requests = server.requests();
    let first = &requests[0];
    assert_eq!((first.number, first.status, first.sent), (1, Some(206), 3));
    assert_eq!((first.bucket.as_deref(), first.key.as_deref()), (Some("air"), Some("a")));
    assert_eq!(first.range.as_deref(), Some("bytes=-3"));
    assert_eq!(requests[1].status, Some(404));
    assert!(requests[2].query.as_ref().unwrap().contains("prefix=a"));
    assert!(requests[3].received >= 3);
    server.reset_counts();
    assert_eq!((server.total(), server.requests().len()), (0, 0));
    block(get(&client, "a"));
    assert_eq!(server.requests()[0].number, 1);
}

#[test]
fn latency_is_waited_for_side_by_side() {
    let (server, client) = server();
    server.set_latency(Duration::from_millis(500));
    let start = Instant::now();
    block(async {
        let gets = (0..64).map(|_| get(&client, "a"));
        assert!(join_all(gets).await.iter().all(|body| body == "0123456789"));
    });
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(500), "{took:?}");
    assert_eq!(server.max_in_flight(), 64);
    assert_eq!(server.round_trips(), 1);
    assert_eq!(server.in_flight(), 0);
    server.set_latency(Duration::from_millis(20));
    server.reset_counts();
    block(async {
        get(&client, "a").await;
        get(&client, "b").await;
        get(&client, "a").await;
    });
    assert_eq!((server.max_in_flight(), server.round_trips()), (1, 3));
}

#[test]
fn a_page_can_be_made_short() {
    let (server, client) = server();
    server.set_page_size(Some(1));
    let page = block(client.list_objects_v2().bucket("air").send()).unwrap();
    assert_eq!((page.contents().len(), page.is_truncated()), (1, Some(true)));
}

#[test]
fn sizes_from_which_requests_are_refused_can_be_made_small() {
    let mut options = S3Options { buckets: vec!["air".into()], ..S3Options::default() };
    (options.limits.put, options.limits.copy) = (8, 4);
    let server = S3Server::start(options).unwrap();
    server.put("air", "big", BODY);
    let client = client(&server);
    let body = ByteStream::from_static(BODY);
    let put = block(client.put_object().bucket("air").key("c").body(body).send());
    assert_eq!(outcome(&put), "400 EntityTooLarge");
    let copy = block(client.copy_object().copy_source("air/big").bucket("air").key("c").send());
    assert_eq!(outcome(&copy), "400 InvalidRequest");
}

#[test]
fn a_folder_can_be_put_into_a_bucket() {
    let (server, _) = server();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("v")).unwrap();
    std::fs::write(folder.path().join("v/0.0"), "chunk").unwrap();
    std::fs::write(folder.path().join(".zgroup"), "{}").unwrap();
    server.import(folder.path(), "other", "set/").unwrap();
    let objects: Vec<_> = server.objects("other").into_iter().collect();
    assert_eq!(objects, [("set/.zgroup".into(), "{}".into()), ("set/v/0.0".into(), "chunk".into())]);
}
