//! Copies in parts from S3 to S3: the requests that `host/docs/src/scale.md` counts with.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

use ncz::model::Format;
use ncz_remote_tests::client::{self, BUCKET};
use ncz_test_servers::{Operation, S3Server};

use crate::budget::field;
use crate::peers::service::Service;

/// Requests of each kind.
#[derive(Debug)]
struct Counts {
    gets: u64,
    puts: u64,
    others: u64,
}

fn count(server: &S3Server) -> Counts {
    let (gets, puts) = (server.count(Operation::GetObject), server.count(Operation::PutObject));
    Counts { gets, puts, others: server.total() - gets - puts }
}

/// Copies a dataset of so many chunks in so many parts, with another codec; returns the requests of the plan, of all
/// parts, and of the last step.
fn copied(chunks: u64, parts: u64) -> [Counts; 3] {
    let server = client::server();
    client::put_all(&server, "in.zarr", &*field(Format::Zarr3, chunks, 256, None));
    let service = Service::Ours(server);
    let Service::Ours(server) = &service else { panic!("it counts") };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    let [source, target] = ["in.zarr", "out.zarr"].map(|name| format!("s3://{BUCKET}/{name}"));
    let step = |args: &[&str]| {
        server.reset_counts();
        service.ncz_ok(args);
        count(server)
    };
    let planned = step(&["copy", &source, &target, "--plan", &parts.to_string(), plan, "--codec", "zstd"]);
    server.reset_counts();
    (0..parts).for_each(|part| service.ncz_ok(&["copy", "--part", &part.to_string(), plan]));
    let made = count(server);
    let finished = step(&["copy", "--finish", plan]);
    service.ncz_ok(&["verify", &target]);
    [planned, made, finished]
}

#[test]
fn a_copy_in_parts_takes_the_requests_that_the_book_counts_with() {
    for (chunks, parts) in [(60, 3), (240, 6)] {
        let [planned, made, finished] = copied(chunks, parts);
        let all = format!("{chunks} {parts}: {planned:?} {made:?} {finished:?}");
        let sum = |of: fn(&Counts) -> u64| of(&planned) + of(&made) + of(&finished);
        // Some belong to the copy as a whole.
        let whole = 8;
        assert!(sum(|counts| counts.gets) <= chunks + 7 * parts + whole, "{all}");
        assert!(sum(|counts| counts.puts) <= chunks + parts + whole, "{all}");
        assert!(sum(|counts| counts.others) <= 4 * chunks + parts + whole, "{all}");
        assert!(planned.gets + finished.gets < chunks / 2 + whole, "{all}");
    }
}
