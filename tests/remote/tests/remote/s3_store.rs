//! The guarantees of `S3Store` beyond the store contract: the number of requests, the handling of failures, and the
//! replacement of a dataset.

#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

use std::time::Duration;

use ncz_store::Secret;
use ncz_store::s3::{Credentials, S3Config, S3Store};
use ncz_store::{
    Access, CreateOptions, Depth, Key, Prefix, ReadRange, Store, StoreError, StoreExt, WriteMode,
};
use ncz_test_servers::{Authority, Fault, Operation, Refusal, Rule, S3Options, S3Server};

mod writers;

mod answers;

mod endless;

const PLACE: &str = "air/a.zarr";

#[test]
fn each_operation_takes_the_requests_that_it_must() {
    let server = server();
    let store = open(&server);
    let costs = |what: &str, action: &dyn Fn(), want: &[(Operation, u64)]| {
        server.reset_counts();
        action();
        assert_eq!(server.counts(), want.iter().copied().collect(), "{what}");
    };
    let mut out = Vec::new();
    let mut room = [0; 4];
    costs("opening", &|| drop(open(&server)), &[]);
    let a = key("a/0");
    costs(
        "writing",
        &|| store.write(a, b"0123456789", WriteMode::Replace).unwrap(),
        &[(Operation::PutObject, 1)],
    );
    for range in [
        ReadRange::All,
        ReadRange::From(3),
        ReadRange::From(10),
        ReadRange::Bounded { offset: 2, len: 3 },
        ReadRange::Suffix(4),
        ReadRange::Suffix(11),
        ReadRange::Bounded { offset: 8, len: 3 },
    ] {
        server.reset_counts();
        let _ = store.read(a, range, 100, &mut out);
        let heads = server.count(Operation::HeadObject);
        assert_eq!(server.count(Operation::GetObject), 1, "{range}");
        // this server does not return the length with a 416
        assert!(heads == 0 || matches!(range, ReadRange::From(10)), "{range}: {heads}");
    }
    costs("a missing object", &|| assert!(!store.exists(key("b")).unwrap()), &[(Operation::HeadObject, 1)]);
    server.reset_counts();
    let end = store.read_end_into(a, &mut room).unwrap().unwrap();
    assert_eq!((end.filled, end.object_len, &room), (4, 10, b"6789"));
    assert_eq!(server.counts(), [(Operation::GetObject, 1)].into());
    costs(
        "deleting",
        &|| assert!(store.delete(a).unwrap()),
        &[(Operation::GetObject, 1), (Operation::DeleteObject, 1)],
    );
    costs("deleting what is missing", &|| assert!(!store.delete(a).unwrap()), &[(Operation::GetObject, 1)]);
    store.write(a, b"", WriteMode::Replace).unwrap();
    costs(
        "deleting an empty object",
        &|| assert!(store.delete(a).unwrap()),
        // this server does not return the length with a 416
        &[(Operation::GetObject, 1), (Operation::HeadObject, 1), (Operation::DeleteObject, 1)],
    );
}

#[test]
fn an_object_above_the_size_of_a_part_comes_in_parts_or_not_at_all() {
    let server = server();
    let mut config = config(&server);
    config.part_size = 5 << 20;
    let store = S3Store::open(config, Access::ReadWrite).unwrap();
    let bytes: Vec<u8> = (0..12_000_000_u32).map(|n| (n >> 7) as u8).collect();
    for mode in [WriteMode::Replace, WriteMode::CreateNew] {
        store.delete(key("big")).unwrap();
        server.reset_counts();
        store.write(key("big"), &bytes, mode).unwrap();
        assert_eq!(server.count(Operation::UploadPart), 3);
        assert_eq!(server.count(Operation::PutObject), 0);
        assert!(store.read_vec(key("big"), 20 << 20).unwrap().unwrap() == bytes);
    }
    let error = store.write(key("big"), &bytes, WriteMode::CreateNew).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
    assert!(server.uploads("air").is_empty());
    server.fail(Rule::new(Fault::access_denied()).operation(Operation::UploadPart).nth(2));
    let error = store.write(key("other"), &bytes, WriteMode::Replace).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
    assert!(server.uploads("air").is_empty(), "the upload was not aborted");
    assert!(!store.exists(key("other")).unwrap());
    // the answer to the last request is lost: it was done
    server.heal();
    server.fail(Rule::new(Fault::LoseAnswer).operation(Operation::CompleteMultipartUpload).nth(1));
    store.write(key("other"), &bytes, WriteMode::Replace).unwrap();
    assert!(store.read_vec(key("other"), 20 << 20).unwrap().unwrap() == bytes);
}

#[test]
fn what_passes_is_tried_again_and_what_comes_damaged_is_never_handed_on() {
    let server = server();
    let store = open(&server);
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    store.write(key("a/0"), &bytes, WriteMode::Replace).unwrap();
    let read = |range, want: &[u8]| {
        let mut out = Vec::new();
        assert!(store.read(key("a/0"), range, 1 << 20, &mut out).unwrap());
        assert!(out == want);
    };
    for fault in [
        Fault::internal_error(),
        Fault::slow_down(),
        Fault::unavailable(),
        Fault::Reset,
        Fault::LoseAnswer,
        Fault::ResetInBody { after: 100_000 },
        Fault::ShortBody { missing: 7 },
        Fault::CorruptBody,
    ] {
        eprintln!("{fault}");
        server.heal();
        server.fail(Rule::new(fault.clone()).operation(Operation::GetObject).first(2));
        server.reset_counts();
        read(ReadRange::All, &bytes);
        assert_eq!(server.count(Operation::GetObject), 3, "{fault}");
        // S3 has no checksum of a part of an object
        if fault != Fault::CorruptBody {
            server.heal();
            server.fail(Rule::new(fault).operation(Operation::GetObject).first(2));
            read(ReadRange::Suffix(200_000), &bytes[100_000..]);
        }
    }
    for fault in [Fault::internal_error(), Fault::slow_down(), Fault::Reset, Fault::LoseAnswer] {
        server.heal();
        server.fail(Rule::new(fault).operation(Operation::PutObject).first(2));
        store.write(key("a/1"), b"new", WriteMode::Replace).unwrap();
        assert_eq!(store.read_vec(key("a/1"), 10).unwrap().unwrap(), b"new");
    }
    server.heal();
    server.fail(Rule::new(Fault::internal_error()).operation(Operation::GetObject));
    server.reset_counts();
    let error = store.read_vec(key("a/0"), 1 << 20).unwrap_err().to_string();
    assert_eq!(server.count(Operation::GetObject), 5);
    assert!(error.contains("tried 5 times") && error.contains("InternalError (500)"), "{error}");
}

#[test]
fn a_lost_answer_does_not_make_a_new_object_look_like_somebody_elses() {
    let server = server();
    let store = open(&server);
    server.fail(Rule::new(Fault::LoseAnswer).operation(Operation::PutObject).nth(1));
    store.write(key("lock"), b"mine", WriteMode::CreateNew).unwrap();
    assert_eq!(server.count(Operation::PutObject), 2);
    server.heal();
    // the same bytes by somebody else are not ours
    server.put("air", "a.zarr/other", "mine");
    server.fail(Rule::new(Fault::internal_error()).operation(Operation::PutObject).nth(1));
    let error = store.write(key("other"), b"mine", WriteMode::CreateNew).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
    // racing writers get an answer to try again
    server.heal();
    server.fail(Rule::new(Fault::conflict()).operation(Operation::PutObject).nth(1));
    store.write(key("raced"), b"mine", WriteMode::CreateNew).unwrap();
}

#[test]
fn a_service_that_says_nothing_is_left_after_the_idle_timeout() {
    let server = server();
    server.put("air", "a.zarr/a", vec![1; 100_000]);
    let mut config = config(&server);
    config.remote.idle_timeout = Duration::from_millis(300);
    config.remote.attempts = 2;
    let store = S3Store::open(config, Access::Read).unwrap();
    server.fail(Rule::new(Fault::Hang).operation(Operation::GetObject).nth(1));
    assert!(store.read_vec(key("a"), 1 << 20).unwrap().is_some());
    server.heal();
    let every = Duration::from_secs(2);
    server.fail(Rule::new(Fault::Trickle { bytes: 10, every }).operation(Operation::GetObject));
    let error = store.read_vec(key("a"), 1 << 20).unwrap_err().to_string();
    assert!(error.contains("no byte came for 0.3 s") && error.contains("tried 2 times"), "{error}");
}

#[test]
fn refusals_name_their_reason_and_the_remedy() {
    let server = server();
    let store = open(&server);
    let says = |fault: Fault, words: &[&str]| {
        server.heal();
        server.fail(Rule::new(fault));
        for error in [
            store.read_vec(key("a"), 10).map(drop).unwrap_err(),
            store.write(key("a"), b"1", WriteMode::Replace).unwrap_err(),
            store.exists(key("a")).map(drop).unwrap_err(),
            store.list(Prefix::ROOT, Depth::One, 10).map(drop).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(!text.contains("testtest"), "a secret: {text}");
        }
        server.reset_counts();
        assert!(store.read_vec(key("a"), 10).is_err());
        assert_eq!(server.total(), 1, "hopeless, and tried again");
    };
    says(Fault::expired_token(), &["denied", "ExpiredToken", "get new ones"]);
    says(Fault::invalid_access_key(), &["denied", "InvalidAccessKeyId", "check it, and the endpoint"]);
    says(Fault::signature_does_not_match(), &["denied", "SignatureDoesNotMatch", "secret access key"]);
    says(Fault::access_denied(), &["denied", "AccessDenied", "s3:ListBucket"]);
    server.heal();
    let mut elsewhere = config(&server);
    elsewhere.bucket = "nowhere".to_owned();
    let nowhere = S3Store::open(elsewhere, Access::Read).unwrap();
    let error = nowhere.read_vec(key("a"), 10).unwrap_err().to_string();
    assert!(error.contains("no bucket \"nowhere\"") && error.contains(&server.endpoint()), "{error}");
    // something that is not an S3 service has no missing objects
    server.fail(Rule::new(Fault::Answer(Refusal::new(404, "Page", "not here"))));
    assert!(store.read_vec(key("a"), 10).is_err());
}

#[test]
fn a_bucket_in_another_region_is_found_there() {
    let options = S3Options {
        region: Some("eu-west-3".to_owned()),
        buckets: vec!["air".to_owned()],
        ..S3Options::default()
    };
    let server = S3Server::start(options).unwrap();
    server.put("air", "a.zarr/a", "1");
    let store = open(&server);
    assert_eq!(store.read_vec(key("a"), 10).unwrap().unwrap(), b"1");
    server.reset_counts();
    store.write(key("b"), b"2", WriteMode::Replace).unwrap();
    assert_eq!(server.total(), 1, "it knows by now");
    assert!(open(&server).exists(key("a")).unwrap(), "an answer to HEAD has no words, but a header");
}

#[test]
fn as_whom_to_ask_is_up_to_the_caller() {
    let mut options = S3Options { buckets: vec!["air".to_owned()], ..S3Options::default() };
    options.credentials.token = Some("session".to_owned());
    let server = S3Server::start(options).unwrap();
    server.put("air", "a.zarr/a", "1");
    let with = |credentials| {
        let config =
            S3Config::new("air", "a.zarr").with_endpoint(server.endpoint()).with_credentials(credentials);
        S3Store::open(config, Access::Read).unwrap().read_vec(key("a"), 10)
    };
    let keys = |token: Option<&str>| Credentials::Keys {
        id: "test".to_owned(),
        secret: Secret::new("testtest"),
        token: token.map(Secret::new),
    };
    assert!(with(keys(Some("session"))).unwrap().is_some());
    assert!(matches!(with(keys(Some("other"))), Err(StoreError::Denied { .. })));
    let error = with(Credentials::Anonymous).unwrap_err().to_string();
    assert!(error.contains("anonymously"), "{error}");
    server.make_public("air");
    assert!(with(Credentials::Anonymous).unwrap().is_some());
}

#[test]
fn https_needs_a_certificate_that_is_trusted() {
    let authority = Authority::new().unwrap();
    let options = S3Options {
        buckets: vec!["air".to_owned()],
        authority: Some(authority.clone()),
        ..S3Options::default()
    };
    let server = S3Server::start(options).unwrap();
    server.put("air", "a.zarr/a", "1");
    let error = open(&server).read_vec(key("a"), 10).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    authority.write(&file).unwrap();
    let mut config = config(&server);
    config.remote.ca_file = Some(file);
    let store = S3Store::open(config.clone(), Access::Read).unwrap();
    assert_eq!(store.read_vec(key("a"), 10).unwrap().unwrap(), b"1");

    // Bodies are not signed here, nor those of parts.
    config.part_size = 5 << 20;
    let store = S3Store::open(config, Access::ReadWrite).unwrap();
    for (name, len) in [("b", 1000), ("c", 11 << 20)] {
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        store.write(key(name), &bytes, WriteMode::Replace).unwrap();
        assert!(store.read_vec(key(name), 20 << 20).unwrap().unwrap() == bytes);
    }
}

#[test]
fn objects_of_other_programs_are_distinguished_from_those_of_the_dataset() {
    let server = server();
    for name in ["", "a/", "a/0", "a//b", "b/c/", "../x", ".ncz-unfinished", "plus+and space%20", "tab\tit"] {
        server.put("air", &format!("a.zarr/{name}"), "1");
    }
    server.put("air", "a.zarr2/0", "1");
    let listing = open(&server).list(Prefix::ROOT, Depth::All, 100).unwrap();
    let keys: Vec<_> = listing.entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["a", "a/0", "b", "b/c", "plus+and space%20"]);
    assert_eq!(listing.skipped, ["../x", "a//b", "tab\tit"]);
}

#[test]
fn a_key_that_s3_cannot_hold_is_refused_without_a_request() {
    let server = server();
    let long = ["x".repeat(250), "y".repeat(250), "z".repeat(250), "w".repeat(250)].join("/");
    let mut config = config(&server);
    config.prefix = "prefix/of/more/than/twenty/bytes".to_owned();
    let store = S3Store::open(config, Access::ReadWrite).unwrap();
    let error = store.write(key(&long), b"1", WriteMode::Replace).unwrap_err();
    assert!(matches!(error, StoreError::KeyTooLong { len: 1036, most: 1024, .. }), "{error}");
    assert_eq!(server.total(), 0);
}

#[test]
fn a_new_dataset_shuts_out_others_and_leaves_nothing_unless_published() {
    let server = server();
    server.put("air", "a.zarr/", "");
    server.put("air", "a.zarr2/0", "somebody else's");
    let store = S3Store::create(config(&server), CreateOptions::new()).unwrap();
    assert_eq!(names(&server), ["a.zarr/", "a.zarr/.ncz-unfinished", "a.zarr2/0"]);
    let error = S3Store::create(config(&server), CreateOptions::new()).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
    assert!(error.to_string().contains(".ncz-unfinished"), "{error}");
    for n in 0..30 {
        store.write(key(&format!("v/{n}")), b"1", WriteMode::Replace).unwrap();
    }
    store.write(key(".zgroup"), b"{}", WriteMode::Replace).unwrap();
    server.put("air", "a.zarr/theirs/0", "written by another program meanwhile");
    drop(store);
    assert_eq!(names(&server), ["a.zarr/", "a.zarr/theirs/0", "a.zarr2/0"]);
    server.remove("air", "a.zarr/theirs/0");

    let store = S3Store::create(config(&server), CreateOptions::new()).unwrap();
    store.write(key(".zgroup"), b"{}", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    drop(store);
    assert_eq!(names(&server), ["a.zarr/", "a.zarr/.zgroup", "a.zarr2/0"]);
    let error = S3Store::create(config(&server), CreateOptions::new()).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
}

#[test]
fn after_any_failure_the_old_or_the_new_dataset_is_complete_at_one_of_two_locations() {
    let old = [(".zgroup", "old"), ("v/.zarray", "old"), ("v/0", "old"), ("v/9", "old")];
    let new = [("v/.zarray", "new"), ("v/0", "new"), ("v/1", "new"), (".zattrs", "new"), (".zgroup", "new")];
    let mut stopped = 0;
    for answered in [false, true] {
        for n in 1.. {
            let server = server();
            for (name, text) in old {
                server.put("air", &format!("a.zarr/{name}"), text);
            }
            let mut config = config(&server);
            config.remote.attempts = 1;
            config.remote.in_flight = 1;
            if answered {
                server.stop_after(n)
            } else {
                server.stop_at(n)
            }
            let done = replace(&config, &new);
            server.heal();
            let objects = server.objects("air");
            let holds = |prefix: &str, want: &[(&str, &str)]| {
                let found = objects
                    .iter()
                    .filter(|(name, _)| name.starts_with(prefix) && !name.contains(".ncz-unfinished"));
                let found: Vec<_> =
                    found.map(|(name, bytes)| (name[prefix.len()..].to_owned(), bytes.clone())).collect();
                let mut want: Vec<_> = want
                    .iter()
                    .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec().into()))
                    .collect();
                want.sort();
                found == want
            };
            let beside = objects
                .keys()
                .find_map(|name| Some(name.split_once('/')?.0).filter(|first| first.contains(".ncz-new-")));
            let beside = beside.map(|first| format!("{first}/"));
            let whole_beside = beside.as_ref().is_some_and(|beside| holds(beside, &new));
            let is_old = holds("a.zarr/", &old);
            assert!(is_old || holds("a.zarr/", &new) || whole_beside, "{n} {answered}: {:?}", objects.keys());
            match done {
                Ok(()) => {
                    assert!(holds("a.zarr/", &new), "{n} {answered}: {:?}", objects.keys());
                    assert_eq!(beside, None);
                    break;
                }
                Err(error) => {
                    stopped += 1;
                    let text = error.to_string();
                    if !is_old && !holds("a.zarr/", &new) {
                        // no reader takes the mixture for a dataset
                        assert!(
                            !objects.contains_key("a.zarr/.zgroup"),
                            "{n} {answered}: {:?}",
                            objects.keys()
                        );
                        let from = beside.unwrap();
                        assert!(
                            text.contains(from.trim_end_matches('/')) && text.contains("copy it from there"),
                            "{n}: {text}"
                        );
                    }
                }
            }
            assert!(n < 100);
        }
    }
    assert!(stopped > 30, "{stopped}");
}

#[test]
fn what_somebody_did_not_finish_gives_way_to_who_overwrites() {
    let server = server();
    server.put("air", "a.zarr/.ncz-unfinished", "{}");
    server.put("air", "a.zarr/v/0", "half");
    let error = S3Store::create(config(&server), CreateOptions::new()).unwrap_err();
    assert!(error.to_string().contains(".ncz-unfinished"), "{error}");
    replace(&config(&server), &[(".zgroup", "{}")]).unwrap();
    assert_eq!(names(&server), ["a.zarr/.zgroup"]);
    // what is not a dataset does not
    let refuse = || CreateOptions::new().replace_if(|_| Ok(false));
    let error = S3Store::create(config(&server), refuse()).unwrap_err();
    assert!(matches!(error, StoreError::NotADataset { .. }), "{error}");
    assert_eq!(names(&server), ["a.zarr/.zgroup"]);
}

#[test]
fn read_many_keeps_as_many_requests_going_as_it_may() {
    let server = server();
    let store = open(&server);
    let keys: Vec<String> = (0..128).map(|n| format!("v/{n}")).collect();
    for key in &keys {
        server.put("air", &format!("a.zarr/{key}"), key.clone());
    }
    let requests: Vec<_> = keys
        .iter()
        .map(|text| ncz_store::ReadRequest { key: key(text), range: ReadRange::All, max_len: 100 })
        .collect();
    store.exists(key("v/0")).unwrap();
    server.set_latency(Duration::from_millis(200));
    server.reset_counts();
    let me = std::thread::current().id();
    let seen = std::sync::Mutex::new(0);
    store.read_many(&requests, &|index, answer| {
        assert_eq!(answer.unwrap().unwrap(), keys[index].as_bytes());
        assert_eq!(std::thread::current().id(), me);
        *seen.lock().unwrap() += 1;
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(*seen.lock().unwrap(), 128);
    assert_eq!(server.max_in_flight(), 64);
}

fn replace(config: &S3Config, objects: &[(&str, &str)]) -> Result<(), StoreError> {
    let may = CreateOptions::new().replace_if(|old| old.exists(Key::parse(".zgroup").unwrap()));
    let store = S3Store::create(config.clone(), may)?;
    for (name, text) in objects {
        store.write(key(name), text.as_bytes(), WriteMode::Replace)?;
    }
    store.publish()
}

fn server() -> S3Server {
    S3Server::start_with("air").unwrap()
}

fn config(server: &S3Server) -> S3Config {
    let known = server.credentials();
    let keys = Credentials::Keys { id: known.key.clone(), secret: Secret::new(&known.secret), token: None };
    let mut config = S3Config::new("air", PLACE.trim_start_matches("air/"))
        .with_endpoint(server.endpoint())
        .with_credentials(keys);
    config.remote.first_pause = Duration::from_millis(5);
    config
}

fn open(server: &S3Server) -> S3Store {
    S3Store::open(config(server), Access::ReadWrite).unwrap()
}

fn names(server: &S3Server) -> Vec<String> {
    server.objects("air").into_keys().collect()
}

fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}
