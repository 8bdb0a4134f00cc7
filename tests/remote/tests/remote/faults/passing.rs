//! Failures that pass: each is tried again, and what is done in the end is right.

use std::time::Duration;

use ncz_remote_tests::explained;
use ncz_test_servers::{Fault, Operation as Request, Refusal, Rule};

use super::operations::{Bench, Operation};

/// Every third request fails; that of ten tries all should is as good as impossible, however they interleave.
const TRIES: u32 = 10;

fn check(fault: &Fault, requests: &[Request], operations: &[Operation]) {
    let mut befell = 0;
    for &operation in operations {
        let bench = Bench::new(operation, TRIES);
        let mut rule = Rule::new(fault.clone()).every_nth(3);
        if operation == Operation::Delete {
            rule = Rule::new(fault.clone()).first(2);
        }
        for &request in requests {
            rule = rule.operation(request);
        }
        bench.server.fail(rule);
        let outcome = bench.run();
        bench.server.heal();
        if let Err(error) = outcome {
            panic!("{operation:?}, {fault}: {}", explained(&*error));
        }
        befell += bench.server.faults();
        println!("{operation:?}: {} faults in {} requests", bench.server.faults(), bench.server.total());
        bench.check_done();
    }
    assert!(befell >= operations.len() / 2, "{befell} faults");
}

#[test]
fn internal_errors_are_tried_again() {
    check(&Fault::internal_error(), &[], &Operation::ALL);
}

#[test]
fn services_that_ask_to_slow_down_are_tried_again() {
    check(&Fault::slow_down(), &[], &Operation::ALL);
    check(&Fault::unavailable(), &[], &[Operation::ReadSlab, Operation::Create]);
    let throttled = Fault::Answer(Refusal::new(429, "TooManyRequests", "Too many requests."));
    check(&throttled, &[], &[Operation::ReadSlab, Operation::Create]);
}

#[test]
fn retry_after_is_respected() {
    let bench = Bench::new(Operation::Open, TRIES);
    let refusal =
        Refusal::new(503, "SlowDown", "Please reduce your request rate.").header("Retry-After", "1");
    bench.server.fail(Rule::new(Fault::Answer(refusal)).first(1));
    bench.run().unwrap();
    let log = bench.server.requests();
    let refused = &log[0];
    let again = log[1..].iter().find(|request| request.key == refused.key).unwrap();
    assert!(again.arrived - refused.ended.unwrap() >= Duration::from_millis(950), "{log:#?}");
}

#[test]
fn connections_that_are_reset_before_the_answer_are_tried_again() {
    check(&Fault::Reset, &[], &Operation::ALL);
}

#[test]
fn a_lost_answer_to_what_was_done_does_no_harm() {
    check(&Fault::LoseAnswer, &[], &Operation::ALL);
}

#[test]
fn connections_that_are_reset_in_the_body_are_tried_again() {
    check(&Fault::ResetInBody { after: 3 }, &[], &Operation::ALL);
}

#[test]
fn bodies_that_end_early_are_tried_again() {
    check(&Fault::ShortBody { missing: 1 }, &[], &Operation::ALL);
}

#[test]
fn slow_bodies_and_late_answers_are_waited_for() {
    let slow = Fault::Trickle { bytes: 40, every: Duration::from_millis(2) };
    check(&slow, &[], &[Operation::ReadSlab, Operation::ReadShards, Operation::CopyInside]);
    check(&Fault::Delay(Duration::from_millis(50)), &[], &[Operation::ReadSlab, Operation::Create]);
}

#[test]
fn bytes_that_do_not_fit_their_checksum_are_asked_for_again() {
    // a part of an object has no checksum of the service's, so shards are another matter
    let whole = [
        Operation::Open,
        Operation::ReadDocuments,
        Operation::ReadSlab,
        Operation::Append,
        Operation::CopyInside,
        Operation::CopyToZip,
    ];
    check(&Fault::CorruptBody, &[Request::GetObject], &whole);
}

#[test]
fn an_etag_of_something_else_changes_nothing_where_bytes_have_checksums() {
    let operations = [Operation::ReadSlab, Operation::ReadShards, Operation::Create, Operation::Overwrite];
    check(&Fault::WrongETag, &[Request::GetObject, Request::PutObject, Request::CopyObject], &operations);
}

#[test]
fn an_error_inside_a_good_answer_is_an_error() {
    let moves = [Request::CopyObject, Request::CompleteMultipartUpload];
    let operations = [Operation::Overwrite, Operation::WriteParts];
    for &operation in &operations {
        let bench = Bench::new(operation, TRIES);
        bench.server.fail(Rule::new(Fault::error_inside()).operation(moves[0]).operation(moves[1]).first(3));
        bench.run().unwrap_or_else(|error| panic!("{operation:?}: {}", explained(&*error)));
        assert_eq!(bench.server.faults(), 3, "{operation:?}");
        bench.check_done();
    }
}

#[test]
fn writers_that_race_for_a_key_try_again() {
    check(
        &Fault::conflict(),
        &[Request::PutObject],
        &[Operation::Create, Operation::Append, Operation::Overwrite],
    );
}
