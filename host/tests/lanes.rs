//! On a store where a request is a round trip, many wait at the same time, few compute, and no request is too many.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ncz::copy::{CopyOptions, VariablePlan, copy};
use ncz::nczarr::metadata::ReadOptions;
use ncz::nczarr::{
    Array, ByteOrder, Dataset, Elements, Format, Hierarchy, NcType, NewVariable, Pool, Session, Sharding,
    Slab,
};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::testing::{Counting, Counts, Fault, Faulty, Remote};
use ncz::store::{
    Capabilities, Depth, Key, Listing, MemoryStore, Prefix, ReadInto, ReadRange, Store, StoreError, WriteMode,
};
use ncz::verify::{Code, VerifyOptions, verify};

type Far = Remote<Counting<MemoryStore>>;

const CHUNK: u64 = 1024;
const CHUNKS: u64 = 200;

fn far() -> Remote<Counting<MemoryStore>> {
    Remote::new(Counting::new(MemoryStore::new("test"))).with_latency(Duration::from_millis(20))
}

fn session(pool: Pool) -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), pool)
}

/// One variable of `chunks` chunks of ints, `len` each, in shards of so many chunks.
fn dataset(
    store: Arc<dyn Store>,
    pool: Pool,
    chunks: u64,
    len: u64,
    chain: &str,
    shard: Option<u64>,
) -> Dataset {
    let format = if shard.is_some() { Format::Zarr3 } else { Format::NCZARR };
    let session = session(pool);
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "x", chunks * len, false).unwrap();
    let variable = NewVariable::new("v", NcType::Int).dimensions(["x"]).chunks([len]);
    let variable = hierarchy.add_variable("/", variable).unwrap();
    variable.sharding = shard.map(|shard| Sharding {
        shape: vec![shard * len],
        index_at_end: true,
        index_checksum: true,
        index_order: ByteOrder::Little,
    });
    session.define(variable, format, &ChainSpec::parse(chain).unwrap()).unwrap();
    let mut dataset = Dataset::create(store, hierarchy, session, false).unwrap();
    dataset.flush().unwrap();
    dataset
}

fn data(elements: u64) -> Vec<u8> {
    (0..elements).flat_map(|i| (i as i32).to_ne_bytes()).collect()
}

fn write(array: &Array) {
    array.write(&Slab::whole(array.shape()), Elements::Native, &data(array.shape()[0])).unwrap();
}

fn read(array: &Array, from: u64, len: u64) -> Vec<u8> {
    let mut out = vec![0; len as usize * 4];
    array.read(&Slab::new([from], [len]), Elements::Native, &mut out).unwrap();
    out
}

/// Reads, lengths and writes of `work`.
fn requests(store: &Far, work: impl FnOnce()) -> (u64, u64, u64) {
    let before: Counts = store.inner().counts();
    work();
    let after = store.inner().counts();
    (after.reads - before.reads, after.lens - before.lens, after.writes - before.writes)
}

const ZSTD: &str = r#"{"id":"zstd","level":1}"#;

#[test]
fn chunks_are_one_request_each_and_64_wait_at_the_same_time() {
    for pool in [Pool::serial(), Pool::with_threads(2).unwrap()] {
        for chain in ["[]", ZSTD] {
            let store = Arc::new(far());
            let array = dataset(store.clone(), pool.clone(), CHUNKS, CHUNK, chain, None).array("/v").unwrap();
            assert_eq!(
                requests(&store, || write(&array)),
                (0, 0, CHUNKS),
                "{chain}: whole chunks are not read"
            );
            assert_eq!(store.most_waiting(), 64, "{chain}: writing");
            let whole = data(CHUNKS * CHUNK);
            let all = requests(&store, || assert_eq!(read(&array, 0, CHUNKS * CHUNK), whole));
            assert_eq!(all, (CHUNKS, 0, 0), "{chain}");
            let part = requests(&store, || assert_eq!(read(&array, 7, CHUNK), whole[28..28 + 4096]));
            assert_eq!(part, (2, 0, 0), "{chain}");
            let few = || array.write(&Slab::new([7], [3]), Elements::Native, &[0; 12]).unwrap();
            assert_eq!(requests(&store, few), (1, 0, 1), "{chain}: a part of a chunk");
        }
    }
}

#[test]
fn reading_and_writing_reach_64_each() {
    let (store, other) = (Arc::new(far()), Arc::new(far()));
    let pool = Pool::with_threads(2).unwrap();
    write(&dataset(store.clone(), pool.clone(), CHUNKS, CHUNK, ZSTD, None).array("/v").unwrap());
    let source = dataset(other.clone(), pool, CHUNKS, CHUNK, ZSTD, None);
    // The chunks of one store in another that has not waited yet.
    for number in 0..CHUNKS {
        let key = format!("v/{number}");
        let key = Key::parse(&key).unwrap();
        let mut bytes = Vec::new();
        store.inner().read(key, ReadRange::All, 1 << 20, &mut bytes).unwrap();
        other.inner().write(key, &bytes, WriteMode::Replace).unwrap();
    }
    assert!(other.most_waiting() < 64);
    assert_eq!(read(&source.array("/v").unwrap(), 0, CHUNKS * CHUNK), data(CHUNKS * CHUNK));
    assert_eq!(other.most_waiting(), 64);
}

#[test]
fn a_chunk_of_a_shard_is_an_index_and_a_range() {
    let store = Arc::new(far());
    let pool = Pool::with_threads(2).unwrap();
    let array = dataset(store.clone(), pool, 160, CHUNK, ZSTD, Some(2)).array("/v").unwrap();
    assert_eq!(requests(&store, || write(&array)), (0, 0, 80), "covered shards are not read");
    assert_eq!(store.most_waiting(), 64);
    let one = requests(&store, || assert_eq!(read(&array, 0, 5), data(5)));
    // The wrapper below counts the index as one request, `Counting` as the length and the range.
    assert_eq!((one.0, one.1), (2, 1));
    let trips = store.round_trips();
    assert_eq!(read(&array, 2 * CHUNK, 5).len(), 20);
    assert_eq!(store.round_trips() - trips, 2);
    let all = requests(&store, || assert_eq!(read(&array, 0, 160 * CHUNK), data(160 * CHUNK)));
    assert_eq!(all, (80, 0, 0), "small shards are read whole");
    let few = || array.write(&Slab::new([7], [3]), Elements::Native, &[0; 12]).unwrap();
    assert_eq!(requests(&store, few), (1, 0, 1), "a part of a shard");
}

#[test]
fn a_copy_keeps_both_stores_busy_and_verifying_too() {
    let (from, to) = (Arc::new(far()), Arc::new(far()));
    let pool = Pool::with_threads(2).unwrap();
    let source = dataset(from.clone(), pool.clone(), CHUNKS, CHUNK, ZSTD, None);
    write(&source.array("/v").unwrap());
    let plan = |chunks: Option<Vec<u64>>| CopyOptions {
        verify: true,
        variables: [("/v".to_owned(), VariablePlan { chunks, ..VariablePlan::default() })].into(),
        ..CopyOptions::default()
    };
    copy(&source, to.clone(), &plan(None), &()).unwrap();
    assert!(to.most_waiting() > 32, "{}", to.most_waiting());
    let copied = Dataset::open(to.clone(), session(pool.clone()), &ReadOptions::default()).unwrap();
    assert_eq!(read(&copied.array("/v").unwrap(), 0, CHUNKS * CHUNK), data(CHUNKS * CHUNK));
    // Other chunks, and back to this machine.
    let memory = Arc::new(MemoryStore::new("near"));
    copy(&copied, memory.clone(), &plan(Some(vec![CHUNK / 2 + 1])), &()).unwrap();
    let near = Dataset::open(memory, session(pool), &ReadOptions::default()).unwrap();
    assert_eq!(read(&near.array("/v").unwrap(), 0, CHUNKS * CHUNK), data(CHUNKS * CHUNK));
    let asked = from.round_trips();
    let report = verify(&source, &VerifyOptions::default(), &()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(from.round_trips() - asked < CHUNKS + 40);
}

#[test]
fn of_a_store_without_listing_a_note_says_what_was_not_looked_for() {
    let store = Arc::new(far().without_listing());
    let source = dataset(store, Pool::serial(), 3, CHUNK, ZSTD, None);
    write(&source.array("/v").unwrap());
    let report = verify(&source, &VerifyOptions::default(), &()).unwrap();
    let codes: Vec<Code> = report.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::NotListed]);
    assert!(report.is_sound() && report.variables[0].chunks == 3);
}

#[test]
fn the_first_error_of_a_lane_is_told_with_its_chunk_and_stops_the_others() {
    let store = Arc::new(Remote::new(Faulty::new(MemoryStore::new("test"), Fault::From(20))));
    let array = dataset(store.clone(), Pool::serial(), CHUNKS, CHUNK, ZSTD, None).array("/v").unwrap();
    let error =
        array.write(&Slab::whole(array.shape()), Elements::Native, &data(CHUNKS * CHUNK)).unwrap_err();
    assert!(error.to_string().contains("v/"), "{error}");
    assert!(store.inner().operations() <= 20 + 64 + 1, "{}", store.inner().operations());
}

/// A store that adds up what it is asked to hold at the same time.
#[derive(Debug)]
struct Weighing {
    inner: MemoryStore,
    now: AtomicU64,
    most: AtomicU64,
    writers: AtomicUsize,
}

impl Weighing {
    fn weigh(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::SeqCst) + bytes;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.writers.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        self.now.fetch_sub(bytes, Ordering::SeqCst);
    }
}

impl fmt::Display for Weighing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Store for Weighing {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        capabilities.in_flight = 64;
        capabilities
    }
    fn read(&self, key: Key<'_>, range: ReadRange, max: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.inner.read(key, range, max, out)
    }
    fn read_into(&self, key: Key<'_>, at: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.inner.read_into(key, at, out)
    }
    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.inner.len(key)
    }
    fn write(&self, key: Key<'_>, bytes: &[u8], _: WriteMode) -> Result<(), StoreError> {
        self.weigh(bytes.len() as u64);
        match key.name().starts_with('.') {
            true => self.inner.write(key, bytes, WriteMode::Replace),
            false => Ok(()),
        }
    }
    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.inner.delete(key)
    }
    fn list(&self, prefix: Prefix<'_>, depth: Depth, most: usize) -> Result<Listing, StoreError> {
        self.inner.list(prefix, depth, most)
    }
    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }
    fn publish(&self) -> Result<(), StoreError> {
        self.inner.publish()
    }
}

#[test]
fn large_chunks_in_flight_are_bounded_by_their_bytes() {
    const LEN: u64 = 4 << 20;
    let inner = MemoryStore::new("test");
    let (now, most, writers) = Default::default();
    let store = Arc::new(Weighing { inner, now, most, writers });
    let array = dataset(store.clone(), Pool::serial(), 40, LEN, "[]", None).array("/v").unwrap();
    // One element, so that all chunks are of the caller's few bytes.
    let slab = Slab::new([0], [40]).with_stride([LEN]);
    array.write(&slab, Elements::Native, &[1; 160]).unwrap();
    let most = store.most.load(Ordering::SeqCst);
    assert!(most <= ncz::nczarr::IN_FLIGHT_BYTES, "{most}");
    assert!(most >= 8 * LEN * 4, "{most}: they wait together");
}
