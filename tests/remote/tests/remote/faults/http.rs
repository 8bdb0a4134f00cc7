//! File servers that fail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz::store::StoreError;
use ncz_remote_tests::client::{self, TRIES};
use ncz_remote_tests::{Sample, explained};
use ncz_test_servers::{Fault, HttpOptions, HttpServer, Refusal, Rule};

use super::{Outcome, store_error};

const SAMPLES: [Sample; 4] = Sample::ALL;

fn server(sample: Sample) -> HttpServer {
    let s3 = client::server();
    client::put_all(&s3, "ocean.zarr", &*sample.in_memory());
    HttpServer::with(s3.objects(client::BUCKET), HttpOptions::default()).unwrap()
}

fn read(server: &HttpServer, sample: Sample) -> Outcome {
    let mut config = ncz::store::http::HttpConfig::new(server.url("ocean.zarr"));
    config.remote = client::impatient();
    config.remote.attempts = 10;
    read_as(config, sample)
}

fn read_as(config: ncz::store::http::HttpConfig, sample: Sample) -> Outcome {
    let dataset = client::open(Arc::new(ncz::store::http::HttpStore::open(config)?))?;
    Ok(sample.check(&dataset)?)
}

#[test]
fn failures_that_pass_are_tried_again() {
    for sample in SAMPLES {
        for fault in [
            Fault::internal_error(),
            Fault::unavailable(),
            Fault::Answer(Refusal::new(429, "TooManyRequests", "Too many requests.")),
            Fault::Answer(Refusal::new(502, "BadGateway", "Bad gateway.")),
            Fault::Answer(Refusal::new(504, "GatewayTimeout", "Gateway timeout.")),
            Fault::Reset,
            Fault::LoseAnswer,
            Fault::ResetInBody { after: 3 },
            Fault::ShortBody { missing: 1 },
            Fault::Trickle { bytes: 40, every: Duration::from_millis(2) },
        ] {
            let server = server(sample);
            server.fail(Rule::new(fault.clone()).every_nth(3));
            read(&server, sample)
                .unwrap_or_else(|error| panic!("{sample:?}, {fault}: {}", explained(&*error)));
            assert!(server.faults() > 0, "{sample:?}, {fault}");
        }
    }
}

#[test]
fn failures_that_last_are_reported_with_url_and_tries() {
    for sample in SAMPLES {
        for fault in [
            Fault::internal_error(),
            Fault::unavailable(),
            Fault::Reset,
            Fault::ResetInBody { after: 1 },
            Fault::ShortBody { missing: 1 },
        ] {
            // from the first request on, and in the midst of reading chunks
            for from in [1, 7] {
                let server = server(sample);
                server.fail(Rule::new(fault.clone()).from(from));
                let mut config = ncz::store::http::HttpConfig::new(server.url("ocean.zarr"));
                config.remote = client::impatient();
                let begun = Instant::now();
                let error = read_as(config, sample).expect_err("nothing but failures");
                assert!(begun.elapsed() < Duration::from_secs(60));
                let text = explained(&*error);
                println!("{fault}: {text}");
                assert!(matches!(store_error(&*error), StoreError::Service { .. }), "{fault}: {text}");
                assert!(text.contains(&server.url("ocean.zarr")), "{fault}: {text}");
                assert!(text.contains(&format!("tried {TRIES} times in ")), "{fault}: {text}");
            }
        }
    }
}

#[test]
fn refusals_are_reported_at_once() {
    for sample in SAMPLES {
        for status in [401, 403] {
            let server = server(sample);
            server.fail(Rule::new(Fault::Answer(Refusal::new(status, "No", "no"))));
            let mut config = ncz::store::http::HttpConfig::new(
                server.url("ocean.zarr?token=very-secret").replace("http://", "http://me:password@"),
            );
            config.remote = client::impatient();
            let error = read_as(config, sample).expect_err("nothing but refusals");
            let text = explained(&*error);
            println!("{status}: {text}");
            assert!(matches!(store_error(&*error), StoreError::Denied { .. }), "{status}: {text}");
            assert!(text.contains(&server.url("ocean.zarr")), "{text}");
            assert!(!text.contains("very-secret") && !text.contains("password@"), "{text}");
        }
    }
}

#[test]
fn damaged_shards_are_never_handed_out() {
    // over HTTP nothing detects whole wrong chunks: there are no checksums
    let server = server(Sample::SHARDED);
    server.fail(Rule::new(Fault::CorruptBody).keys(|key| !key.ends_with("zarr.json")));
    let error = read(&server, Sample::SHARDED).expect_err("every shard is damaged");
    let text = explained(&*error);
    assert!(text.contains("checksum") || text.contains("damaged"), "{text}");
}
