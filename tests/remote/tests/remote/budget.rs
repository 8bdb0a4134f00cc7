//! How many requests things take, and how many wait at the same time. Nothing here measures time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ncz::model::{Array, Elements, Format, Hierarchy, NcType, Sharding, Slab, VariableBuilder};
use ncz::registry::spec::ChainSpec;
use ncz::store::{MemoryStore, Store};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_remote_tests::client::{self, BUCKET};
use ncz_remote_tests::{Sample, explained};
use ncz_test_servers::{Control, HttpServer, Operation, Request, S3Server};

const PLACE: &str = "ocean.zarr";

/// Well above what a request takes without.
const LATENCY: Duration = Duration::from_millis(150);

/// Elements of a chunk of [`field`].
const CHUNK: u64 = 256;

/// A dataset on both kinds of servers.
struct Servers {
    s3: S3Server,
    http: HttpServer,
}

impl Servers {
    fn with(from: &dyn Store) -> Self {
        let s3 = client::server();
        client::put_all(&s3, PLACE, from);
        let http = client::file_server(&s3);
        Self { s3, http }
    }

    fn with_sample(sample: Sample) -> Self {
        Self::with(&*sample.in_memory())
    }

    /// Both, as stores and as what counts their requests.
    fn both(&self) -> [(Arc<dyn Store>, &Control); 2] {
        [(client::store(&self.s3, PLACE), &*self.s3), (client::http_store(&self.http, PLACE), &*self.http)]
    }
}

/// One variable `/v` of numbers from 0 on, without codecs.
pub(crate) fn field(
    format: Format,
    chunks: u64,
    chunk: u64,
    chunks_in_shard: Option<u64>,
) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new("field"));
    let session = client::session();
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "x", chunks * chunk, false).unwrap();
    let mut new = VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([chunk]);
    if let Some(together) = chunks_in_shard {
        new = new.sharding(Sharding::new([together * chunk]));
    }
    let variable = hierarchy.add_variable("/", new).unwrap();
    session.define(variable, format, &ChainSpec::default()).unwrap();
    let dataset = Dataset::create(store.clone(), hierarchy, session, true).unwrap();
    let array = dataset.array("/v").unwrap();
    for number in 0..chunks {
        let slab = Slab::new([number * chunk], [chunk]);
        array.write_bytes(&slab, Elements::Native, &numbers(number * chunk, chunk)).unwrap();
    }
    drop(array);
    dataset.finish().unwrap();
    store
}

fn numbers(from: u64, count: u64) -> Vec<u8> {
    (from..from + count).flat_map(|n| (n as u32).to_ne_bytes()).collect()
}

fn array(dataset: &Dataset) -> Array {
    dataset.array("/v").unwrap_or_else(|error| panic!("{}", explained(&error)))
}

fn open(store: Arc<dyn Store>) -> Dataset {
    client::open(store).unwrap_or_else(|error| panic!("{}", explained(&error)))
}

fn read(array: &Array, from: u64, count: u64) {
    let mut out = vec![0x5a; 4 * count as usize];
    array
        .read_bytes(&Slab::new([from], [count]), Elements::Native, &mut out)
        .unwrap_or_else(|error| panic!("{}", explained(&error)));
    assert!(out == numbers(from, count), "{from}, {count}");
}

fn is_get(request: &Request) -> bool {
    matches!(request.operation, Operation::GetObject | Operation::Get)
}

/// The requests, which are all GETs of different objects.
fn gets(control: &Control) -> Vec<Request> {
    let log = control.requests();
    let keys: BTreeSet<_> = log.iter().map(|request| request.key.clone()).collect();
    assert!(log.iter().all(is_get) && keys.len() == log.len(), "{log:#?}");
    log
}

/// Opens with latency; gives how many GETs that took, and how many round trips.
fn opening(store: Arc<dyn Store>, control: &Control) -> (usize, usize) {
    control.set_latency(LATENCY);
    control.reset_counts();
    let dataset = open(store);
    let found = (gets(control).len(), control.round_trips());
    control.set_latency(Duration::ZERO);
    assert_eq!(dataset.hierarchy().variables().count(), 3);
    found
}

#[test]
fn consolidated_metadata_of_version_2_are_two_gets_in_one_round_trip() {
    let servers = Servers::with_sample(Sample::ZARR2);
    for (store, control) in servers.both() {
        let (gets, trips) = opening(store, control);
        assert!(gets <= 2 && trips == 1, "{gets} GETs in {trips} round trips: {:#?}", control.requests());
    }
}

#[test]
fn consolidated_metadata_of_version_3_are_two_gets_in_one_round_trip() {
    for sample in [Sample::ZARR3, Sample::SHARDED] {
        let servers = Servers::with_sample(sample);
        for (store, control) in servers.both() {
            let (gets, trips) = opening(store, control);
            assert!(gets <= 2 && trips == 1, "{gets} GETs in {trips} round trips: {:#?}", control.requests());
        }
    }
}

#[test]
fn nczarr_takes_one_get_more_to_see_that_consolidated_metadata_are_not_stale() {
    let servers = Servers::with_sample(Sample::NCZARR);
    for (store, control) in servers.both() {
        let (gets, trips) = opening(store, control);
        assert!(gets <= 3 && trips <= 2, "{gets} GETs in {trips} round trips: {:#?}", control.requests());
    }
}

#[test]
fn without_consolidated_metadata_nczarr_asks_once_for_each_object_and_lists_nothing() {
    let sample = Sample { is_consolidated: false, ..Sample::NCZARR };
    let servers = Servers::with_sample(sample);
    for (store, control) in servers.both() {
        control.reset_counts();
        sample.check(&open(store)).unwrap();
        let log = gets(control);
        // 7 chunks of /a (3 x 2), /b (2) and /g/c (3) make 11; chunks that might exist are requested as well
        let documents = log.iter().filter(|request| is_document(request)).count();
        let stored = servers.s3.objects(BUCKET).keys().filter(|key| is_document_name(key)).count();
        assert!(documents >= stored && documents <= 3 * stored, "{documents} of {stored}: {log:#?}");
    }
}

fn is_document(request: &Request) -> bool {
    request.key.as_deref().is_some_and(is_document_name)
}

fn is_document_name(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|name| name.starts_with('.') || name == "zarr.json")
}

#[test]
fn a_chunk_is_one_get_and_part_of_it_too() {
    const CHUNKS: u64 = 20;
    for format in [Format::NCZARR, Format::Zarr2, Format::Zarr3] {
        let servers = Servers::with(&*field(format, CHUNKS, CHUNK, None));
        for (store, control) in servers.both() {
            let dataset = open(store);
            let array = array(&dataset);
            for (from, count, chunks) in
                [(0, CHUNKS * CHUNK, CHUNKS), (5, 1, 1), (CHUNK - 1, 2, 2), (CHUNK, 3 * CHUNK, 3)]
            {
                control.reset_counts();
                read(&array, from, count);
                assert_eq!(gets(control).len() as u64, chunks, "{format:?} {from} {count}");
            }
        }
    }
}

#[test]
fn a_chunk_in_a_shard_is_two_gets_of_parts() {
    const CHUNKS: u64 = 32;
    let servers = Servers::with(&*field(Format::Zarr3, CHUNKS, CHUNK, Some(8)));
    for (store, control) in servers.both() {
        let dataset = open(store);
        let array = array(&dataset);
        control.reset_counts();
        read(&array, 11 * CHUNK + 3, 5);
        let log = control.requests();
        assert_eq!(log.len(), 2, "{log:#?}");
        let whole = servers.s3.object(BUCKET, &format!("{PLACE}/v/c/1")).unwrap().len() as u64;
        for request in &log {
            assert!(is_get(request) && request.range.is_some(), "{log:#?}");
            assert!(request.sent < whole / 4, "{log:#?}");
        }
    }
}

#[test]
fn a_whole_chunk_is_one_put_and_nothing_else() {
    const CHUNKS: u64 = 20;
    for format in [Format::NCZARR, Format::Zarr2, Format::Zarr3] {
        let servers = Servers::with(&*field(format, CHUNKS, CHUNK, None));
        let store = client::store(&servers.s3, PLACE);
        let dataset = open(store);
        let array = array(&dataset);
        servers.s3.reset_counts();
        let slab = Slab::new([2 * CHUNK], [15 * CHUNK]);
        array.write_bytes(&slab, Elements::Native, &numbers(7, 15 * CHUNK)).unwrap();
        let log = servers.s3.requests();
        let keys: BTreeSet<_> = log.iter().map(|request| request.key.clone()).collect();
        let are_puts = log.iter().all(|request| request.operation == Operation::PutObject);
        assert!(are_puts && log.len() == 15 && keys.len() == 15, "{log:#?}");
        // a part of a chunk has to be merged into the existing chunk
        servers.s3.reset_counts();
        array.write_bytes(&Slab::new([5], [3]), Elements::Native, &numbers(0, 3)).unwrap();
        let operations: Vec<_> = servers.s3.requests().iter().map(|request| request.operation).collect();
        assert_eq!(operations, [Operation::GetObject, Operation::PutObject]);
    }
}

#[test]
fn a_shard_that_is_written_whole_is_one_put() {
    let servers = Servers::with(&*field(Format::Zarr3, 32, CHUNK, Some(8)));
    let dataset = open(client::store(&servers.s3, PLACE));
    let array = array(&dataset);
    servers.s3.reset_counts();
    let slab = Slab::new([8 * CHUNK], [16 * CHUNK]);
    array.write_bytes(&slab, Elements::Native, &numbers(7, 16 * CHUNK)).unwrap();
    let operations: Vec<_> = servers.s3.requests().iter().map(|request| request.operation).collect();
    assert_eq!(operations, [Operation::PutObject; 2]);
}

#[test]
fn a_new_dataset_is_one_put_an_object_and_little_else() {
    for sample in Sample::ALL {
        let server = client::server();
        let store = client::new_store(&server, PLACE, false).unwrap();
        sample.create(store).unwrap_or_else(|error| panic!("{}", explained(&error)));
        let objects = server.objects(BUCKET).len() as u64;
        let counts = server.counts();
        // and the marker, which is put and deleted; NCZarr's lists are written again with the new length
        assert_eq!(server.count(Operation::PutObject), objects + 1, "{sample:?}: {:#?}", server.requests());
        assert_eq!(server.count(Operation::DeleteObject), 1, "{sample:?}: {counts:?}");
        assert!(server.total() - objects <= 8, "{sample:?}: {counts:?}");
    }
}

#[test]
fn sixty_four_requests_wait_at_the_same_time_and_no_more() {
    const CHUNKS: u64 = 200;
    let servers = Servers::with(&*field(Format::Zarr2, CHUNKS, CHUNK, None));
    for (store, control) in servers.both() {
        let dataset = open(store);
        let array = array(&dataset);
        control.set_latency(LATENCY);
        control.reset_counts();
        read(&array, 0, CHUNKS * CHUNK);
        assert_eq!((control.total(), control.max_in_flight()), (CHUNKS, 64));
    }
    let dataset = open(client::store(&servers.s3, PLACE));
    servers.s3.reset_counts();
    let slab = Slab::new([0], [CHUNKS * CHUNK]);
    array(&dataset).write_bytes(&slab, Elements::Native, &numbers(1, CHUNKS * CHUNK)).unwrap();
    assert_eq!((servers.s3.total(), servers.s3.max_in_flight()), (CHUNKS, 64));
}

#[test]
fn many_documents_are_asked_for_together() {
    const VARIABLES: usize = 40;
    let store = Arc::new(MemoryStore::new("many"));
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 4, false).unwrap();
    for number in 0..VARIABLES {
        let new = VariableBuilder::new(format!("v{number}"), NcType::Int).dimensions(["x"]).chunks([4]);
        hierarchy.add_variable("/", new).unwrap();
    }
    Dataset::create(store.clone(), hierarchy, client::session(), false).unwrap().finish().unwrap();
    let servers = Servers::with(&*store);
    for (store, control) in servers.both() {
        control.set_latency(LATENCY);
        control.reset_counts();
        let dataset = open(store);
        assert_eq!(dataset.hierarchy().variables().count(), VARIABLES);
        let (gets, trips) = (gets(control).len(), control.round_trips());
        assert!(gets >= 2 * VARIABLES && trips <= 4, "{gets} GETs in {trips} round trips");
    }
}

/// Chunks of the dataset, of a MiB each.
const LARGE_CHUNKS: u64 = 96;

/// Chunks of a slab.
const SLAB: u64 = 8;

/// The resident memory of this process at its highest, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Reads the dataset of the service at `endpoint`, and prints the highest memory after two slabs and after all.
fn print_peaks(endpoint: String) {
    let mut config = ncz::store::s3::S3Config::new(BUCKET, PLACE).with_endpoint(endpoint);
    config.credentials = ncz::store::s3::Credentials::Anonymous;
    config.region = Some("us-east-1".to_owned());
    let store = ncz::store::s3::S3Store::open(config, ncz::store::Access::Read).unwrap();
    let dataset = Dataset::open(Arc::new(store), client::session(), &ReadOptions::default()).unwrap();
    let array = array(&dataset);
    let chunk = array.chunk_shape()[0];
    let mut first = 0;
    for number in 0..LARGE_CHUNKS / SLAB {
        read(&array, number * SLAB * chunk, SLAB * chunk);
        if number == 1 {
            first = peak();
        }
    }
    let mut out = std::io::stdout();
    writeln!(out, "peaks {first} {}", peak()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn reading_slab_by_slab_takes_memory_for_a_slab_and_not_for_the_dataset() {
    const NAME: &str = "budget::reading_slab_by_slab_takes_memory_for_a_slab_and_not_for_the_dataset";
    // In the child process, which runs the same test: the memory of the servers must not count.
    if let Ok(endpoint) = std::env::var("NCZ_TEST_READER") {
        return print_peaks(endpoint);
    }
    let servers = Servers::with(&*field(Format::Zarr2, LARGE_CHUNKS, 1 << 18, None));
    servers.s3.make_public(BUCKET);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("NCZ_TEST_READER", servers.s3.endpoint())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{text}{}", String::from_utf8_lossy(&child.stderr));
    let line = text.lines().find_map(|line| line.split_once("peaks ")).expect("what the child says").1;
    let peaks: Vec<u64> = line.split(' ').map(|peak| peak.trim().parse().unwrap()).collect();
    // 12 slabs of 8 MiB pass; from the second on nothing more is kept
    assert!(peaks[1] - peaks[0] < 16 << 10, "{peaks:?} KiB");
    assert!(peaks[1] < 160 << 10, "{peaks:?} KiB");
}
