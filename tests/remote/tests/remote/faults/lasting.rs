//! Failures that last: one clear error, in bounded time, and what was there before is whole.

use std::time::{Duration, Instant};

use ncz::store::StoreError;
use ncz_remote_tests::client::{BUCKET, TRIES};
use ncz_remote_tests::explained;
use ncz_test_servers::{Fault, Operation as Request, Rule};
use ncz_test_support::takes_all;

use super::operations::{Bench, Operation};
use super::{Outcome, store_error};

/// More than any operation needs that tries a few times without long pauses.
const LONG: Duration = Duration::from_secs(60);

/// Every kind of request that this program sends, by itself.
const REQUESTS: [&[Request]; 9] = [
    &[],
    &[Request::GetObject],
    &[Request::HeadObject],
    &[Request::ListObjectsV2],
    &[Request::PutObject],
    &[Request::CopyObject],
    &[Request::DeleteObject],
    &[Request::DeleteObjects],
    &[Request::CreateMultipartUpload, Request::UploadPart, Request::CompleteMultipartUpload],
];

/// Every operation while all of its requests fail, and while those of one kind do. The three faults that are checked like
/// this take turns: each operation meets every kind of request, with one of them. `NCZ_LASTING=all` takes all.
fn check_in_turn(fault: &Fault, turn: usize) {
    let is_taken = |operation, requests| requests == 0 || (operation + requests) % 3 == turn;
    check_some(fault, &REQUESTS, |operation, requests| {
        takes_all("NCZ_LASTING") || is_taken(operation, requests)
    });
}

fn check(fault: &Fault, requests: &[&[Request]]) {
    check_some(fault, requests, |_, _| true);
}

/// Checks the pairs of an operation and of requests whose numbers are taken.
fn check_some(fault: &Fault, requests: &[&[Request]], is_taken: impl Fn(usize, usize) -> bool) {
    let mut failed = 0;
    for (number, operation) in Operation::ALL.into_iter().enumerate() {
        for (_, requests) in requests.iter().enumerate().filter(|(requests, _)| is_taken(number, *requests)) {
            let bench = Bench::new(operation, TRIES);
            let rule =
                requests.iter().fold(Rule::new(fault.clone()), |rule, &request| rule.operation(request));
            bench.server.fail(rule);
            let begun = Instant::now();
            let outcome = bench.run();
            let elapsed = begun.elapsed();
            bench.server.heal();
            let context = format!("{operation:?}, {fault} of {requests:?}");
            assert!(elapsed < LONG, "{context}: {elapsed:?}");
            failed += usize::from(outcome.is_err());
            look(&bench, outcome, &context);
        }
    }
    assert!(2 * failed > Operation::ALL.len(), "{failed} failed");
}

fn look(bench: &Bench, outcome: Outcome, context: &str) {
    match outcome {
        Ok(()) => {
            assert_eq!(bench.harmed(), 0, "{context}: {:#?}", bench.server.requests());
            bench.check_done();
        }
        Err(error) => {
            let text = explained(&*error);
            println!("{context}: {text}");
            assert!(bench.server.faults() > 0, "{context}: {text}");
            assert!(text.contains(&format!("{}/{BUCKET}", bench.server.endpoint())), "{context}: {text}");
            assert!(text.contains(&format!("tried {TRIES} times in ")), "{context}: {text}");
            match store_error(&*error) {
                StoreError::Service { .. } | StoreError::NotRemoved { .. } => {}
                StoreError::PartlyReplaced { .. } if bench.operation == Operation::Overwrite => {}
                other => panic!("{context}: {other:?}"),
            }
            bench.check_failed(&*error);
        }
    }
}

#[test]
fn internal_errors_that_last_are_reported_with_location_and_attempts() {
    check_in_turn(&Fault::internal_error(), 0);
}

#[test]
fn a_service_that_is_always_busy_is_reported_with_location_and_attempts() {
    check(&Fault::slow_down(), &[&[], &[Request::PutObject]]);
}

#[test]
fn connections_that_are_always_reset_are_reported_with_location_and_attempts() {
    check_in_turn(&Fault::Reset, 1);
}

#[test]
fn answers_that_are_always_lost_are_reported_with_location_and_attempts() {
    check_in_turn(&Fault::LoseAnswer, 2);
}

#[test]
fn bodies_that_are_always_truncated_are_reported_with_location_and_attempts() {
    check(&Fault::ShortBody { missing: 1 }, &[&[Request::GetObject]]);
    check(&Fault::ResetInBody { after: 1 }, &[&[Request::GetObject]]);
}

#[test]
fn an_error_inside_every_good_answer_is_reported_with_location_and_attempts() {
    for operation in [Operation::Overwrite, Operation::WriteParts] {
        let bench = Bench::new(operation, TRIES);
        let moves = Rule::new(Fault::error_inside());
        bench.server.fail(moves.operation(Request::CopyObject).operation(Request::CompleteMultipartUpload));
        let outcome = bench.run();
        assert!(outcome.is_err());
        bench.server.heal();
        look(&bench, outcome, &format!("{operation:?}"));
    }
}

#[test]
fn bytes_that_never_fit_their_checksum_are_never_handed_out() {
    // what is deleted is looked at, not read
    for operation in Operation::ALL.into_iter().filter(|&operation| operation != Operation::Delete) {
        let bench = Bench::new(operation, TRIES);
        bench.server.fail(Rule::new(Fault::CorruptBody).operation(Request::GetObject));
        let outcome = bench.run();
        bench.server.heal();
        match outcome {
            Ok(()) if bench.harmed() == 0 => bench.check_done(),
            Ok(()) => panic!("{operation:?} took {} damaged answers", bench.harmed()),
            Err(error) => {
                let text = explained(&*error);
                assert!(text.contains("checksum") || text.contains("damaged"), "{operation:?}: {text}");
                bench.check_failed(&*error);
            }
        }
    }
}

#[test]
fn parts_with_another_etag_than_the_service_has_make_no_object() {
    let bench = Bench::new(Operation::WriteParts, TRIES);
    bench.server.fail(Rule::new(Fault::WrongETag).operation(Request::UploadPart));
    let error = bench.run().unwrap_err();
    let text = explained(&*error);
    assert!(text.contains("InvalidPart") && text.contains("g/c/0"), "{text}");
    bench.check_failed(&*error);
    assert_eq!(bench.server.uploads(BUCKET), [""; 0]);
}

#[test]
fn a_service_that_never_answers_is_given_up() {
    for operation in [Operation::Open, Operation::Create] {
        let bench = Bench::new(operation, 2);
        bench.server.fail(Rule::new(Fault::Hang));
        let begun = Instant::now();
        let error =
            bench.run_as(|config| config.remote.idle_timeout = Duration::from_millis(300)).unwrap_err();
        assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
        let text = explained(&*error);
        assert!(text.contains("tried 2 times") && text.contains("no answer"), "{text}");
        bench.server.heal();
        bench.check_failed(&*error);
    }
}

#[test]
fn a_body_that_stops_coming_is_given_up() {
    let bench = Bench::new(Operation::ReadSlab, 2);
    let stops = Fault::Trickle { bytes: 1, every: Duration::from_secs(20) };
    bench.server.fail(Rule::new(stops).operation(Request::GetObject));
    let begun = Instant::now();
    let error = bench.run_as(|config| config.remote.idle_timeout = Duration::from_millis(300)).unwrap_err();
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    let text = explained(&*error);
    assert!(text.contains("tried 2 times"), "{text}");
}

#[test]
fn a_refused_connection_is_reported_with_the_endpoint() {
    let bench = Bench::new(Operation::Open, TRIES);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{free}");
    let error = bench.run_as(|config| config.endpoint = Some(endpoint.clone())).unwrap_err();
    let text = explained(&*error);
    assert!(text.contains(&endpoint) && text.contains("tried 2 times"), "{text}");
}
