//! Services that refuse: reported at once, with the location and the remedy, without secrets.

use ncz::store::Secret;
use ncz::store::StoreError;
use ncz::store::s3::{Credentials, S3Config};
use ncz_remote_tests::client::{self, BUCKET, TRIES};
use ncz_remote_tests::explained;
use ncz_test_servers::{Credentials as Known, Fault, Operation as Request, Rule, S3Options, S3Server};

use super::operations::{Bench, Operation};
use super::store_error;

const READS: &[Request] = &[Request::GetObject, Request::HeadObject];

const WRITES: &[Request] = &[
    Request::PutObject,
    Request::CopyObject,
    Request::DeleteObject,
    Request::DeleteObjects,
    Request::CreateMultipartUpload,
];

const LISTS: &[Request] = &[Request::ListObjectsV2];

/// Checks all operations; `words` are to be in the message.
fn check(fault: &Fault, requests: &[&[Request]], words: &[&str]) {
    for operation in Operation::ALL {
        for requests in requests {
            let bench = Bench::new(operation, TRIES);
            bench.server.fail(
                requests.iter().fold(Rule::new(fault.clone()), |rule, &request| rule.operation(request)),
            );
            let outcome = bench.run();
            bench.server.heal();
            let context = format!("{operation:?}, {fault} of {requests:?}");
            match outcome {
                Ok(()) => {
                    assert_eq!(bench.server.faults(), 0, "{context}");
                    bench.check_done();
                }
                Err(error) => {
                    let text = explained(&*error);
                    println!("{context}: {text}");
                    assert!(bench.server.faults() > 0, "{context}: {text}");
                    assert!(
                        text.contains(&format!("{}/{BUCKET}", bench.server.endpoint())),
                        "{context}: {text}"
                    );
                    assert!(!text.contains(&format!("tried {TRIES} times")), "{context}: {text}");
                    for word in words {
                        assert!(text.contains(word), "{context}, {word}: {text}");
                    }
                    hides_secrets(&text);
                    bench.check_failed(&*error);
                }
            }
        }
    }
}

fn hides_secrets(text: &str) {
    assert!(!text.contains("testtest") && !text.contains("wrong-secret"), "{text}");
}

#[test]
fn missing_permissions_to_read_write_or_list_are_reported() {
    check(
        &Fault::access_denied(),
        &[&[], READS, WRITES, LISTS],
        &["denied", "AccessDenied", "was sent with", "anonymously (#aws.profile=no)"],
    );
}

#[test]
fn expired_credentials_are_to_be_renewed() {
    check(&Fault::expired_token(), &[&[], READS, WRITES], &["ExpiredToken", "get new ones"]);
}

#[test]
fn a_key_that_the_service_does_not_know_is_named_so() {
    check(
        &Fault::invalid_access_key(),
        &[&[]],
        &["InvalidAccessKeyId", "does not know the access key", "#aws.profile=no"],
    );
}

#[test]
fn a_signature_that_does_not_match_is_blamed_on_the_secret() {
    check(&Fault::signature_does_not_match(), &[&[]], &["SignatureDoesNotMatch", "secret access key"]);
}

#[test]
fn a_bucket_that_is_missing_is_named() {
    let requests = [&[], &[Request::GetObject] as &[_], WRITES];
    check(&Fault::no_such_bucket(), &requests, &["no bucket", BUCKET]);
}

#[test]
fn a_clock_that_is_wrong_is_to_be_set() {
    let message = "The difference between the request time and the current time is too large.";
    check(&Fault::answer(403, "RequestTimeTooSkewed", message), &[&[], WRITES], &["clock"]);
}

#[test]
fn a_bucket_in_another_region_that_does_not_answer_there_is_reported_with_the_region() {
    check(&Fault::moved_to("eu-central-1"), &[&[]], &["eu-central-1"]);
}

/// What a client gets from a service that checks what it is sent.
fn refusal(server: &S3Server, change: impl Fn(&mut S3Config)) -> String {
    let mut config = client::config(server, "a/b.zarr");
    change(&mut config);
    let store = ncz::store::s3::S3Store::open(config, ncz::store::Access::Read).unwrap();
    let error = client::open(std::sync::Arc::new(store)).unwrap_err();
    let text = explained(&error);
    assert!(matches!(store_error(&error), StoreError::Denied { .. } | StoreError::Service { .. }), "{text}");
    hides_secrets(&text);
    assert!(text.contains("a/b.zarr"), "{text}");
    assert!(!text.contains(&format!("tried {TRIES} times")), "{text}");
    // "denied" can mean that an object is missing, so other documents are requested, each once
    let mut asked: Vec<_> = server.requests().into_iter().map(|request| request.key).collect();
    asked.sort_unstable();
    assert!(asked.windows(2).all(|two| two[0] != two[1]), "{asked:?}");
    text
}

fn keys(id: &str, secret: &str, token: Option<&str>) -> Credentials {
    Credentials::Keys { id: id.to_owned(), secret: Secret::new(secret), token: token.map(Secret::new) }
}

#[test]
fn a_service_refuses_wrong_keys_wrong_secrets_and_anonymous_requests() {
    let server = client::server();
    let text = refusal(&server, |config| config.credentials = keys("nobody", "testtest", None));
    assert!(text.contains("InvalidAccessKeyId"), "{text}");
    server.reset_counts();
    let text = refusal(&server, |config| config.credentials = keys("test", "wrong-secret", None));
    assert!(text.contains("SignatureDoesNotMatch"), "{text}");
    server.reset_counts();
    let text = refusal(&server, |config| config.credentials = Credentials::Anonymous);
    assert!(text.contains("AccessDenied") && text.contains("anonymously"), "{text}");
}

#[test]
fn a_service_refuses_a_wrong_session_token() {
    let known = Known { token: Some("right-token".to_owned()), ..Known::default() };
    let options = S3Options { buckets: vec![BUCKET.to_owned()], credentials: known, ..S3Options::default() };
    let server = S3Server::start(options).unwrap();
    let text = refusal(&server, |config| config.credentials = keys("test", "testtest", Some("old-token")));
    assert!(text.contains("InvalidToken") && text.contains("session token"), "{text}");
    assert!(!text.contains("old-token"), "{text}");
}

#[test]
fn a_service_without_the_bucket_is_reported_with_both_names() {
    let server = client::server();
    let text = refusal(&server, |config| config.bucket = "elsewhere".to_owned());
    assert!(text.contains("no bucket \"elsewhere\"") && text.contains(&server.endpoint()), "{text}");
}

#[test]
fn a_client_that_asks_in_the_wrong_region_asks_in_the_right_one() {
    let region = Some("eu-central-1".to_owned());
    let options = S3Options { region, buckets: vec![BUCKET.to_owned()], ..S3Options::default() };
    let server = S3Server::start(options).unwrap();
    let sample = ncz_remote_tests::Sample::NCZARR;
    sample.create(client::new_store(&server, "a", false).unwrap()).unwrap();
    let dataset = client::open(client::store(&server, "a")).unwrap();
    sample.check(&dataset).unwrap();
    let refused = server.requests().iter().filter(|request| request.status == Some(400)).count();
    assert!(refused > 0);
}

#[test]
fn a_chunk_that_is_hidden_is_not_read_as_fill() {
    let bench = Bench::new(Operation::ReadSlab, TRIES);
    // the answer of S3 for a missing key without permission to list
    bench.server.hide_missing(true);
    let name = format!("{}/a/0.0", super::operations::THERE);
    let key = bench.server.objects(BUCKET).into_keys().find(|key| *key == name).expect("a chunk");
    bench.server.remove(BUCKET, &key);
    let error = bench.run().unwrap_err();
    let text = explained(&*error);
    assert!(matches!(store_error(&*error), StoreError::Denied { .. }), "{text}");
    assert!(text.contains("a/0.0") && text.contains("s3:ListBucket"), "{text}");
}
