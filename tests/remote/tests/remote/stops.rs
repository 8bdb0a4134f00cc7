//! A client that dies at any of its requests: what is in the bucket afterwards is a whole dataset, or none.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use ncz::copy::{CopyOptions, Indices, Selection, append_with_receipt, copy};
use ncz::model::{DataError, DimensionRef, Elements, MetadataError, Slab};
use ncz::store::{Key, StoreError};
use ncz::zarr::Dataset;
use ncz_remote_tests::client::{self, BUCKET};
use ncz_remote_tests::{NEW, OLD, Sample, contents, explained};
use ncz_test_servers::S3Server;
use ncz_test_support::takes_all;

type Objects = BTreeMap<String, Bytes>;

type Outcome = Result<(), Box<dyn Error>>;

/// The location of the dataset.
const PLACE: &str = "ocean/2024.zarr";

/// How many services are used at the same time.
const SERVICES: usize = 3;

/// The request of a client that is its last.
#[derive(Debug, Clone, Copy)]
enum Last {
    /// It does not reach the service.
    Lost(u64),
    /// It is carried out, and its answer is lost.
    Unanswered(u64),
}

impl Last {
    fn all(requests: u64) -> impl Iterator<Item = Self> {
        (1..=requests).flat_map(|n| [Self::Lost(n), Self::Unanswered(n)])
    }

    fn arm(self, server: &S3Server) {
        match self {
            Self::Lost(n) => server.stop_at(n),
            Self::Unanswered(n) => server.stop_after(n),
        }
    }
}

/// Runs `attempt` once without harm, then once for every fifth of the ways to end at a request, each time with the objects
/// that `prepare` has put, and `look` at what is left. `NCZ_STOPS=all` takes all of them. Several services do this at the
/// same time, since clients mostly wait.
fn for_all_last_requests(
    prepare: impl Fn(&S3Server) + Sync,
    attempt: impl Fn(&S3Server) -> Outcome + Sync,
    look: impl Fn(&S3Server, &Outcome, &Objects) + Sync,
) {
    let server = client::server();
    prepare(&server);
    server.reset_counts();
    attempt(&server).unwrap_or_else(|error| panic!("{}", explained(&*error)));
    let requests = server.total();
    assert!((10..200).contains(&requests), "{requests} requests");
    let good = server.objects(BUCKET);
    let step = if takes_all("NCZ_STOPS") { 1 } else { 5 };
    let (all, failed) = (Mutex::new(Last::all(requests).step_by(step)), AtomicU64::new(0));
    let next = || all.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let server = client::server();
        while let Some(last) = next() {
            for name in server.objects(BUCKET).keys() {
                server.remove(BUCKET, name);
            }
            prepare(&server);
            last.arm(&server);
            let outcome = attempt(&server);
            server.heal();
            failed.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
            let seen =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&server, &outcome, &good)));
            if let Err(panic) = seen {
                let result = outcome.map_or_else(|error| explained(&*error), |()| "done".to_owned());
                eprintln!(
                    "{last:?} of {requests} requests: {result}; left are {:?}",
                    server.objects(BUCKET).keys()
                );
                std::panic::resume_unwind(panic);
            }
        }
    };
    // A panic in a thread is one here.
    std::thread::scope(|scope| (0..SERVICES).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner();
    assert!(failed > requests / step as u64, "{failed} of {requests} requests twice");
}

/// Reads a prefix without faults; `None` if it is not a dataset.
fn dataset(server: &S3Server, prefix: &str) -> Option<Dataset> {
    match client::open(client::seen(server, prefix)) {
        Ok(dataset) => Some(dataset),
        Err(DataError::Metadata(MetadataError::NotADataset)) => None,
        Err(error) => panic!("{prefix}: {}", explained(&error)),
    }
}

fn good<T, E: Error + 'static>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{}", explained(&error)))
}

fn create(server: &S3Server, sample: Sample, overwrite: bool) -> Outcome {
    Ok(sample.create(client::new_store(server, PLACE, overwrite)?)?)
}

fn copy_from_memory(server: &S3Server, sample: Sample, overwrite: bool) -> Outcome {
    let source = client::open(sample.in_memory())?;
    let options = CopyOptions { consolidated: true, ..CopyOptions::default() };
    copy(&source, client::new_store(server, PLACE, overwrite)?, &options, &())?;
    Ok(())
}

/// After an attempt to create a dataset: it exists completely, or not at all; and a second attempt creates it.
fn look_at_new(
    server: &S3Server,
    sample: Sample,
    outcome: &Outcome,
    whole: &Objects,
    again: impl Fn(bool) -> Outcome,
) {
    match dataset(server, PLACE) {
        Some(dataset) => good(sample.check(&dataset)),
        None => assert!(outcome.is_err()),
    }
    if let Err(error) = again(false) {
        let error = error.downcast_ref::<StoreError>().expect("the store refuses the location");
        assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(PLACE) && text.contains("overwrite"), "{text}");
        again(true).unwrap_or_else(|error| panic!("{}", explained(&*error)));
    }
    // No object is missing, none is left over.
    assert_eq!(server.objects(BUCKET), *whole);
}

fn a_new_dataset(sample: Sample) {
    for_all_last_requests(
        |_| {},
        |server| create(server, sample, false),
        |server, outcome, whole| {
            look_at_new(server, sample, outcome, whole, |overwrite| create(server, sample, overwrite));
        },
    );
}

#[test]
fn a_new_dataset_of_nczarr_is_whole_or_none_whichever_request_is_the_last() {
    a_new_dataset(Sample::NCZARR);
}

#[test]
fn a_new_dataset_of_version_3_is_whole_or_none_whichever_request_is_the_last() {
    a_new_dataset(Sample::SHARDED);
}

#[test]
fn a_copy_to_a_new_location_is_complete_or_absent_whichever_request_is_the_last() {
    let sample = Sample::NCZARR;
    for_all_last_requests(
        |_| {},
        |server| copy_from_memory(server, sample, false),
        |server, outcome, whole| {
            look_at_new(server, sample, outcome, whole, |overwrite| {
                copy_from_memory(server, sample, overwrite)
            });
        },
    );
}

fn growth(sample: Sample) {
    let original = sample.in_memory();
    let grow = |server: &S3Server| -> Outcome {
        let mut dataset = client::open_to_change(client::store(server, PLACE))?;
        sample.grow(&mut dataset)?;
        Ok(dataset.finish()?)
    };
    for_all_last_requests(
        |server| client::put_all(server, PLACE, &*original),
        grow,
        |server, outcome, whole| {
            // as readers of remote datasets see it, and as those who read every document
            let seen = || client::seen(server, PLACE);
            for dataset in [good(client::open(seen())), good(client::open_to_change(seen()))] {
                let [a, b, c] = good(sample.check_growing(&dataset));
                assert!(outcome.is_err() || [a, b, c] == [NEW; 3], "{:?}", [a, b, c]);
            }
            grow(server).unwrap_or_else(|error| panic!("{}", explained(&*error)));
            good(sample.check_grown(&good(client::open(seen()))));
            let dataset = good(client::open_to_change(seen()));
            good(sample.check_grown(&dataset));
            assert!(dataset.hierarchy().warnings.is_empty(), "{:?}", dataset.hierarchy().warnings);
            let found = server.objects(BUCKET);
            assert!(names(&found).eq(names(whole)), "{:?}, not {:?}", found.keys(), whole.keys());
            assert!(chunks(&found).eq(chunks(whole)));
            append(server, sample);
        },
    );
}

fn appending(sample: Sample) {
    let original = sample.in_memory();
    let source = {
        let grown = sample.in_memory();
        good(sample.grow(&mut good(client::open_to_change(grown.clone()))));
        good(client::open_to_change(grown))
    };
    // In pure Zarr a group has dimensions of its own.
    let dimensions = ["/", "/g"].map(|group| DimensionRef { group: group.to_owned(), name: "t".to_owned() });
    let known = dimensions.into_iter().filter(|t| source.hierarchy().dimension(t).is_some());
    let slabs = known.map(|t| (t, Indices { start: OLD, count: NEW - OLD, step: 1 })).collect();
    let selection = Selection { slabs, ..Selection::default() };
    let options = CopyOptions { selection, ..CopyOptions::default() };
    let append = |server: &S3Server| -> Result<bool, Box<dyn Error>> {
        let store = client::store(server, PLACE);
        let target = client::open_to_change(store.clone())?;
        let appended = append_with_receipt(&source, target, "t", &options, &())?;
        // Who saw the summary has the records; that the journal is left is not a failure.
        let _ = appended.receipt.confirm(&*store);
        Ok(appended.already_appended)
    };
    let journal = format!("{PLACE}/{}", Key::JOURNAL);
    for_all_last_requests(
        |server| client::put_all(server, PLACE, &*original),
        |server| append(server).map(|_| ()),
        |server, outcome, whole| {
            let seen = || client::seen(server, PLACE);
            for dataset in [good(client::open(seen())), good(client::open_to_change(seen()))] {
                let lens = good(sample.check_growing(&dataset));
                assert!(outcome.is_err() || lens == [NEW; 3], "{lens:?}");
            }
            let is_left = server.objects(BUCKET).contains_key(&journal);
            if outcome.is_err() || is_left {
                let already_appended =
                    append(server).unwrap_or_else(|error| panic!("{}", explained(&*error)));
                assert!(already_appended || outcome.is_err());
            }
            let found = server.objects(BUCKET);
            assert!(!found.contains_key(&journal));
            assert!(names(&found).eq(names(whole)), "{:?}, not {:?}", found.keys(), whole.keys());
            assert!(chunks(&found).eq(chunks(whole)));
            let dataset = good(client::open_to_change(seen()));
            good(sample.check_grown(&dataset));
            assert!(dataset.hierarchy().warnings.is_empty(), "{:?}", dataset.hierarchy().warnings);
        },
    );
}

#[test]
fn an_append_to_nczarr_is_made_once_whichever_request_is_the_last() {
    appending(Sample::NCZARR);
}

#[test]
fn an_append_to_version_3_is_made_once_whichever_request_is_the_last() {
    appending(Sample::ZARR3);
}

/// The names of objects except for consolidated metadata. They are deleted before others become longer; of one who dies
/// then it is unknown later that there were any.
fn names(objects: &Objects) -> impl Iterator<Item = &String> {
    objects.keys().filter(|name| !name.ends_with("/.zmetadata"))
}

fn chunks(objects: &Objects) -> impl Iterator<Item = (&String, &Bytes)> {
    let is_document = |name: &str| name.contains("/.z") || name.ends_with("/zarr.json");
    objects.iter().filter(move |(name, _)| !is_document(name))
}

/// Appends one more row to `/b`, and reads it.
fn append(server: &S3Server, sample: Sample) {
    let row = sample.rows("/b", NEW..NEW + 1);
    let mut dataset = good(client::open_to_change(client::store(server, PLACE)));
    assert_eq!(good(dataset.append("/b", 0, Elements::Native, &row)), NEW..NEW + 1);
    good(dataset.finish());
    let dataset = good(client::open(client::seen(server, PLACE)));
    // pure Zarr names dimensions, and does not say that two groups share one
    let paths: &[&str] = if sample.format.is_nczarr() { &["/a", "/b", "/g/c"] } else { &["/a", "/b"] };
    for path in paths {
        assert_eq!(good(dataset.array(path)).shape()[0], NEW + 1, "{path}");
    }
    let mut found = vec![0x5a; row.len()];
    good(good(dataset.array("/b")).read_bytes(&Slab::new([NEW], [1]), Elements::Native, &mut found));
    assert_eq!(found, row);
}

#[test]
fn nczarr_with_consolidated_metadata_has_its_old_or_its_new_length_whichever_request_is_the_last() {
    growth(Sample::NCZARR);
}

#[test]
fn version_2_has_its_old_or_its_new_length_whichever_request_is_the_last() {
    growth(Sample::ZARR2);
}

#[test]
fn version_3_has_its_old_or_its_new_length_whichever_request_is_the_last() {
    growth(Sample::ZARR3);
}

#[test]
fn shards_have_their_old_or_their_new_length_whichever_request_is_the_last() {
    growth(Sample::SHARDED);
}

/// Which of two datasets is at a prefix, if either is there whole.
fn which(server: &S3Server, prefix: &str, samples: [Sample; 2]) -> Option<Sample> {
    let dataset = dataset(server, prefix)?;
    let whole = |sample: &Sample| {
        let wanted = client::open(sample.in_memory()).and_then(|dataset| contents(&dataset));
        good(contents(&dataset)) == good(wanted)
    };
    let found = samples.into_iter().find(whole);
    assert!(found.is_some(), "{prefix} opens, and is neither the old nor the new dataset");
    found
}

fn overwriting(sample: Sample) {
    let (old, new) = (sample.with_seed(1), sample.with_seed(2));
    let original = old.in_memory();
    let whole = {
        let empty = client::server();
        copy_from_memory(&empty, new, false).unwrap_or_else(|error| panic!("{}", explained(&*error)));
        empty.objects(BUCKET)
    };
    // A chunk more than the new one has.
    let stray = format!("{PLACE}/g/old/extra");
    let beside = format!("{PLACE}.ncz-new-");
    for_all_last_requests(
        |server| {
            client::put_all(server, PLACE, &*original);
            server.put(BUCKET, &stray, "x");
        },
        |server| copy_from_memory(server, new, true),
        |server, outcome, done| {
            assert_eq!(*done, whole);
            let at_target = which(server, PLACE, [old, new]);
            match outcome {
                Ok(()) => assert_eq!(at_target, Some(new)),
                Err(_) if at_target.is_some() => {}
                Err(error) => {
                    let text = explained(&**error);
                    let (_, rest) = text.split_once(&beside).unwrap_or_else(|| panic!("{text}"));
                    let stamp: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
                    let staged = format!("{beside}{stamp}");
                    assert_eq!(which(server, &staged, [old, new]), Some(new), "{text}");
                    assert!(text.contains("copy it from there to"), "{text}");
                }
            }
            copy_from_memory(server, new, true).unwrap_or_else(|error| panic!("{}", explained(&*error)));
            assert_eq!(which(server, PLACE, [old, new]), Some(new));
            // The only additional objects are the remains of a dead client next to the location.
            let mut found = server.objects(BUCKET);
            found.retain(|name, _| !name.starts_with(&beside));
            assert_eq!(found, whole);
        },
    );
}

#[test]
fn overwriting_leaves_a_whole_dataset_whichever_request_is_the_last() {
    overwriting(Sample::NCZARR);
}

#[test]
fn overwriting_version_3_leaves_a_whole_dataset_whichever_request_is_the_last() {
    overwriting(Sample::SHARDED);
}
