//! Writers at the same location: writers that were considered dead, later writers, and the data that neither must
//! damage.

use std::thread;
use std::time::Duration;

use ncz::location::DatasetUrl;
use ncz_store::s3::S3Store;
use ncz_store::{CreateOptions, Store, StoreError, WriteMode};
use ncz_test_servers::{Fault, Operation, Rule, S3Server};

use super::{config, key, names, server};

const MARKER: &str = "a.zarr/.ncz-unfinished";

/// Begins a dataset that replaces any existing one.
fn overwrite(server: &S3Server) -> Result<S3Store, StoreError> {
    S3Store::create(config(server), CreateOptions::new().replace_if(|_| Ok(true)))
}

fn write(store: &S3Store, objects: &[&str], text: &str) {
    for object in objects {
        store.write(key(object), text.as_bytes(), WriteMode::Replace).unwrap();
    }
}

/// All objects with what they hold.
fn contents(server: &S3Server) -> Vec<String> {
    let objects = server.objects("air");
    objects.into_iter().map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(&bytes))).collect()
}

#[test]
fn a_writer_considered_dead_neither_deletes_nor_publishes_the_current_dataset() {
    for publishes in [false, true] {
        let server = server();
        let slow = S3Store::create(config(&server), CreateOptions::new()).unwrap();
        write(&slow, &["v/0"], "slow");
        let other = overwrite(&server).unwrap();
        write(&other, &["v/0", "v/1", ".zgroup"], "other");
        other.publish().unwrap();
        let whole = ["a.zarr/.zgroup=other", "a.zarr/v/0=other", "a.zarr/v/1=other"];
        assert_eq!(contents(&server), whole);
        if publishes {
            let error = slow.publish().unwrap_err();
            assert!(matches!(error, StoreError::Gone { .. }), "{error}");
        }
        drop(slow);
        assert_eq!(contents(&server), whole);
    }
}

#[test]
fn the_old_dataset_stays_where_the_new_one_was_cleaned_away() {
    // all of it; the root's documents; the marker, with which cleaning begins
    for is_cleaned in [
        |_: &str| true,
        |name: &str| name.ends_with(".zgroup"),
        |name: &str| name.ends_with(".ncz-unfinished"),
    ] {
        let server = server();
        let old = ["a.zarr/.zgroup=old", "a.zarr/v/0=old"];
        server.put("air", "a.zarr/.zgroup", "old");
        server.put("air", "a.zarr/v/0", "old");
        let store = overwrite(&server).unwrap();
        write(&store, &["v/0", ".zgroup"], "new");
        for name in names(&server).iter().filter(|name| name.contains(".ncz-new-") && is_cleaned(name)) {
            server.remove("air", name);
        }
        let error = store.publish().unwrap_err();
        assert!(matches!(error, StoreError::Gone { .. }), "{error}");
        drop(store);
        assert_eq!(contents(&server), old);
    }
}

#[test]
fn of_two_who_take_over_from_the_same_dead_writer_one_does() {
    for _ in 0..5 {
        let server = server();
        server.put("air", MARKER, "dead");
        server.put("air", "a.zarr/v/9", "half");
        let made = ["A", "B"].map(|text| {
            let store = overwrite(&server).unwrap();
            write(&store, &["v/0", "v/1", "v/2", "v/3", &format!("only{text}/0"), ".zgroup"], text);
            (store, text)
        });
        server.set_latency(Duration::from_millis(20));
        let published = thread::scope(|scope| {
            made.each_ref().map(|(store, _)| scope.spawn(|| store.publish())).map(|one| one.join().unwrap())
        });
        server.set_latency(Duration::ZERO);
        let winners: Vec<&str> = made
            .iter()
            .zip(&published)
            .filter(|(_, published)| published.is_ok())
            .map(|((_, text), _)| *text)
            .collect();
        let [winner] = winners.as_slice() else { panic!("{published:?}") };
        for error in published.iter().filter_map(|published| published.as_ref().err()) {
            assert!(error.to_string().contains(".ncz-unfinished"), "{error}");
        }
        drop(made);
        let mut want: Vec<String> = [".zgroup", "v/0", "v/1", "v/2", "v/3", &format!("only{winner}/0")]
            .map(|object| format!("a.zarr/{object}={winner}"))
            .to_vec();
        want.sort();
        assert_eq!(contents(&server), want);
    }
}

#[test]
fn a_service_without_conditions_lets_a_dead_writer_be_followed_too() {
    let server = server();
    server.put("air", MARKER, "dead");
    let store = overwrite(&server).unwrap();
    write(&store, &[".zgroup"], "new");
    let no = Fault::answer(501, "NotImplemented", "A header you provided implies functionality that is not.");
    server.fail(Rule::new(no).operation(Operation::PutObject).key(MARKER).first(1));
    store.publish().unwrap();
    assert_eq!(server.faults(), 1);
    assert_eq!(contents(&server), ["a.zarr/.zgroup=new"]);
}

#[test]
fn a_whole_dataset_is_not_deleted_for_a_marker_that_stays() {
    for again in [false, true] {
        let server = server();
        let store = S3Store::create(config(&server), CreateOptions::new()).unwrap();
        write(&store, &["v/0", ".zgroup"], "new");
        server.fail(Rule::new(Fault::internal_error()).operation(Operation::DeleteObject));
        let error = store.publish().unwrap_err();
        assert!(matches!(error, StoreError::NotRemoved { .. }), "{error}");
        assert!(error.to_string().contains(MARKER), "{error}");
        server.heal();
        if again {
            server.reset_counts();
            store.publish().unwrap();
            assert_eq!(server.count(Operation::DeleteObject), 1);
            assert_eq!(server.count(Operation::DeleteObjects), 0);
        }
        drop(store);
        let mut left = names(&server);
        left.retain(|name| name != MARKER);
        assert_eq!(left, ["a.zarr/.zgroup", "a.zarr/v/0"]);
        assert_eq!(server.object("air", MARKER).is_some(), !again);
    }
}

#[test]
fn a_dataset_that_was_moved_is_reported_complete_whatever_happens_to_the_marker() {
    let server = server();
    server.put("air", "a.zarr/.zgroup", "old");
    let store = overwrite(&server).unwrap();
    write(&store, &["v/0", ".zgroup"], "new");
    server.fail(Rule::new(Fault::internal_error()).operation(Operation::DeleteObject).key(MARKER));
    let error = store.publish().unwrap_err();
    assert!(matches!(error, StoreError::NotRemoved { .. }), "{error}");
    assert!(error.to_string().contains(MARKER) && error.to_string().contains(".ncz-new-"), "{error}");
    drop(store);
    assert_eq!(server.object("air", "a.zarr/.zgroup").unwrap(), "new");
}

#[test]
fn a_marker_whose_answers_are_lost_blocks_no_writer() {
    let server = server();
    server.fail(Rule::new(Fault::LoseAnswer).operation(Operation::PutObject).first(5));
    server.fail(Rule::new(Fault::internal_error()).operation(Operation::HeadObject));
    assert!(S3Store::create(config(&server), CreateOptions::new()).is_err());
    server.heal();
    assert_eq!(names(&server), [""; 0]);
}

#[test]
fn what_another_writer_ended_before_the_marker_came_is_somebody_elses() {
    let server = server();
    // a marker that is on its way while another dataset begins and ends
    let late = Rule::new(Fault::Delay(Duration::from_millis(500)));
    server.fail(late.operation(Operation::PutObject).key(MARKER).first(1));
    let theirs = Rule::new(Fault::Delay(Duration::from_secs(1)));
    server.fail(theirs.operation(Operation::ListObjectsV2).nth(2));
    let error = thread::scope(|scope| {
        let slow = scope.spawn(|| S3Store::create(config(&server), CreateOptions::new()).map(drop));
        thread::sleep(Duration::from_millis(200));
        server.put("air", "a.zarr/.zgroup", "theirs");
        slow.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
    assert_eq!(contents(&server), ["a.zarr/.zgroup=theirs"]);
}

#[test]
fn foreign_objects_next_to_an_unfinished_dataset_are_kept_and_so_is_a_bucket() {
    let server = server();
    let known = server.credentials();
    let place = |place: &str| {
        let (at, id, secret) = (server.endpoint(), &known.key, &known.secret);
        let text = format!(
            "{at}/{place}#mode=s3&aws.region=us-east-1&aws.access_key_id={id}&aws.secret_access_key={secret}"
        );
        DatasetUrl::parse(&text).unwrap()
    };
    let refused = |at: &str| place(at).create_store(true).map(drop).unwrap_err();
    server.put("air", MARKER, "dead");
    server.put("air", "a.zarr/v/0", "half");
    server.put("air", "a.zarr/.zattrs", "half");
    server.put("air", "a.zarr/notes.txt", "mine");
    let before = contents(&server);
    let error = refused("air/a.zarr");
    assert!(matches!(error, StoreError::NotADataset { .. }), "{error}");
    // a dataset at the root of a bucket, finished or not
    for name in [".zgroup", ".ncz-unfinished"] {
        server.put("air", name, "theirs");
        let error = refused("air").to_string();
        assert!(error.contains("root of a bucket") && error.contains("choose a prefix"), "{error}");
        server.remove("air", name);
    }
    assert_eq!(contents(&server), before);
    server.remove("air", "a.zarr/notes.txt");
    let store = place("air/a.zarr").create_store(true).unwrap();
    store.write(key(".zgroup"), b"new", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    assert_eq!(contents(&server), ["a.zarr/.zgroup=new"]);
}
