//! On a store where a request is a round trip, many wait at the same time, few compute, and no request is too many.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ncz::copy::{CopyError, CopyOptions, VariablePlan, copy};
use ncz::model::{
    Array, ByteOrder, Elements, Format, Hierarchy, NcType, Pool, Session, Sharding, Slab, VariableBuilder,
};
use ncz::progress::Progress;
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::testing::{Counting, Counts, Fault, Faulty, Remote};
use ncz::store::{
    Capabilities, Depth, Key, Listing, MemoryStore, Prefix, ReadInto, ReadRange, Store, StoreError, WriteMode,
};
use ncz::verify::{Code, VerifyOptions, verify};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

type Far = Remote<Counting<MemoryStore>>;

const CHUNK: u64 = 1024;
const CHUNKS: u64 = 200;

fn far() -> Remote<Counting<MemoryStore>> {
    Remote::new(Counting::new(MemoryStore::new("test"))).with_latency(Duration::from_millis(50))
}

fn session(pool: Pool) -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), pool)
}

/// One variable of `chunks` chunks of ints, `len` each, in shards of this many chunks.
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
    let variable = VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([len]);
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
    array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &data(array.shape()[0])).unwrap();
}

fn read(array: &Array, from: u64, len: u64) -> Vec<u8> {
    let mut out = vec![0; len as usize * 4];
    array.read_bytes(&Slab::new([from], [len]), Elements::Native, &mut out).unwrap();
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
            let few = || {
                array.write_bytes(&Slab::new([7], [3]), Elements::Native, &[0; 12]).unwrap();
            };
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
    assert_eq!((one.0, one.1), (2, 0));
    let trips = store.round_trips();
    assert_eq!(read(&array, 2 * CHUNK, 5).len(), 20);
    assert_eq!(store.round_trips() - trips, 2);
    let all = requests(&store, || assert_eq!(read(&array, 0, 160 * CHUNK), data(160 * CHUNK)));
    assert_eq!(all, (80, 0, 0), "small shards are read whole");
    let few = || {
        array.write_bytes(&Slab::new([7], [3]), Elements::Native, &[0; 12]).unwrap();
    };
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
fn the_first_error_of_a_lane_is_reported_with_its_chunk_and_stops_the_others() {
    let store = Arc::new(Remote::new(Faulty::new(MemoryStore::new("test"), Fault::From(20))));
    let array = dataset(store.clone(), Pool::serial(), CHUNKS, CHUNK, ZSTD, None).array("/v").unwrap();
    let error =
        array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &data(CHUNKS * CHUNK)).unwrap_err();
    assert!(error.to_string().contains("v/"), "{error}");
    assert!(store.inner().operations() <= 20 + 64 + 1, "{}", store.inner().operations());
}

/// A store that says of each chunk how long it is, before it is read or written.
struct Watched {
    inner: MemoryStore,
    /// Whether chunks are kept.
    keeps: bool,
    tell: Box<dyn Fn(u64) + Send + Sync>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

fn is_chunk(key: Key<'_>) -> bool {
    !key.name().starts_with('.')
}

impl Store for Watched {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        capabilities.in_flight = 64;
        capabilities
    }
    fn read(&self, key: Key<'_>, range: ReadRange, max: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        if is_chunk(key) {
            (self.tell)(max);
        }
        self.inner.read(key, range, max, out)
    }
    fn read_into(&self, key: Key<'_>, at: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        if is_chunk(key) {
            (self.tell)(out.len() as u64);
        }
        self.inner.read_into(key, at, out)
    }
    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.inner.len(key)
    }
    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        if is_chunk(key) {
            (self.tell)(bytes.len() as u64);
        }
        if is_chunk(key) && !self.keeps { Ok(()) } else { self.inner.write(key, bytes, mode) }
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

fn printed(keeps: bool, tell: impl Fn(u64) + Send + Sync + 'static) -> Arc<Watched> {
    Arc::new(Watched { inner: MemoryStore::new("test"), keeps, tell: Box::new(tell) })
}

#[test]
fn large_chunks_in_flight_are_bounded_by_their_bytes() {
    const LEN: u64 = 4 << 20;
    let held = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let weigh = {
        let held = Arc::clone(&held);
        move |bytes| {
            let now = held.0.fetch_add(bytes, Ordering::SeqCst) + bytes;
            held.1.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(400));
            held.0.fetch_sub(bytes, Ordering::SeqCst);
        }
    };
    let store = printed(false, weigh);
    let array = dataset(store, Pool::serial(), 40, LEN, "[]", None).array("/v").unwrap();
    // One element, so that all chunks are of the caller's few bytes.
    let slab = Slab::new([0], [40]).with_stride([LEN]);
    array.write_bytes(&slab, Elements::Native, &[1; 160]).unwrap();
    let most = held.1.load(Ordering::SeqCst);
    assert!(most <= ncz::model::IN_FLIGHT_BYTES, "{most}");
    assert!(most >= 8 * LEN * 4, "{most}: they wait together");
}

/// Rounds of requests: each waits until 64 do, or all that are left.
#[derive(Default)]
struct Rounds {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    left: u64,
    waiting: u64,
    rounds: u64,
}

impl State {
    fn end(&mut self) {
        self.left -= self.waiting;
        self.waiting = 0;
        self.rounds += 1;
    }
}

impl Rounds {
    fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        let round = state.rounds;
        if state.waiting == state.left.min(64) {
            state.end();
            self.changed.notify_all();
            return;
        }
        let same = |state: &mut State| state.rounds == round;
        let (mut state, late) = self.changed.wait_timeout_while(state, Duration::from_secs(5), same).unwrap();
        if late.timed_out() {
            // No more are coming: it counts as a round of its own.
            state.end();
            self.changed.notify_all();
        }
    }

    /// How many rounds `work` on this many chunks takes.
    fn of(&self, chunks: u64, work: impl FnOnce()) -> u64 {
        *self.state.lock().unwrap() = State { left: chunks, ..State::default() };
        work();
        let state = self.state.lock().unwrap();
        assert_eq!(state.left, 0);
        state.rounds
    }
}

#[test]
fn chunks_take_as_many_rounds_as_64_at_a_time_do() {
    let rounds = Arc::new(Rounds::default());
    let store = printed(true, {
        let rounds = Arc::clone(&rounds);
        move |_| rounds.wait()
    });
    for (chain, pool) in [("[]", Pool::serial()), (ZSTD, Pool::with_threads(2).unwrap())] {
        let array = dataset(store.clone(), pool, CHUNKS, CHUNK, chain, None).array("/v").unwrap();
        let writing = rounds.of(CHUNKS, || write(&array));
        let reading = rounds.of(CHUNKS, || drop(read(&array, 0, CHUNKS * CHUNK)));
        assert!(writing <= CHUNKS / 64 + 2 && reading <= CHUNKS / 64 + 2, "{writing} {reading}");
        for entry in store.inner.list(Prefix::ROOT, Depth::All, 1000).unwrap().entries {
            store.inner.delete(entry.key.as_key()).unwrap();
        }
    }
}

/// A remote store that has not been queried yet.
fn again(memory: &Arc<MemoryStore>, latency: u64) -> Arc<Remote<Counting<Arc<MemoryStore>>>> {
    let latency = Duration::from_millis(latency);
    Arc::new(Remote::new(Counting::new(Arc::clone(memory))).with_latency(latency))
}

fn opened(store: Arc<dyn Store>) -> Dataset {
    Dataset::open(store, session(Pool::with_threads(2).unwrap()), &ReadOptions::default()).unwrap()
}

#[test]
fn shards_are_read_64_requests_at_a_time() {
    // Small shards as a whole, large ones range by range.
    for (chunks, len, shard) in [(160, CHUNK, 2), (80, 1 << 18, 40)] {
        let memory = Arc::new(MemoryStore::new("test"));
        let pool = Pool::with_threads(2).unwrap();
        write(&dataset(memory.clone(), pool, chunks, len, "[]", Some(shard)).array("/v").unwrap());
        let store = again(&memory, 400);
        let array = opened(store.clone()).array("/v").unwrap();
        assert!(read(&array, 0, chunks * len) == data(chunks * len));
        assert_eq!(store.most_waiting(), 64, "shards of {shard}");
    }
}

#[test]
fn the_chunks_of_one_large_tile_are_asked_for_together() {
    let memory = Arc::new(MemoryStore::new("test"));
    write(&dataset(memory.clone(), Pool::serial(), CHUNKS, CHUNK, ZSTD, None).array("/v").unwrap());
    let store = again(&memory, 200);
    let whole = VariablePlan { chunks: Some(vec![CHUNKS * CHUNK]), ..VariablePlan::default() };
    let options = CopyOptions { variables: [("/v".to_owned(), whole)].into(), ..CopyOptions::default() };
    let one = Arc::new(MemoryStore::new("one"));
    let summary = copy(&opened(store.clone()), one.clone(), &options, &()).unwrap();
    assert_eq!((summary.variables[0].chunks, store.most_waiting()), (1, 64));
    assert!(summary.variables[0].after > 0);
    assert_eq!(read(&opened(one).array("/v").unwrap(), 0, CHUNKS * CHUNK), data(CHUNKS * CHUNK));
}

/// Stops as soon as a tile was read, before it is written.
struct StopsWithin;

impl Progress for StopsWithin {
    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        if bytes == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_copy_stops_between_reading_a_tile_and_writing_it() {
    let memory = Arc::new(MemoryStore::new("test"));
    write(&dataset(memory.clone(), Pool::serial(), CHUNKS, CHUNK, ZSTD, None).array("/v").unwrap());
    for chunks in [None, Some(vec![2 * CHUNK])] {
        let (from, to) = (again(&memory, 20), again(&Arc::new(MemoryStore::new("target")), 20));
        let source = opened(from.clone());
        let before = from.inner().counts().reads;
        let plan = VariablePlan { chunks, ..VariablePlan::default() };
        let options = CopyOptions { variables: [("/v".to_owned(), plan)].into(), ..CopyOptions::default() };
        let stopped = copy(&source, to.clone(), &options, &StopsWithin).unwrap_err();
        assert!(matches!(stopped, CopyError::Stopped), "{stopped}");
        assert!(from.inner().counts().reads - before <= 128, "what had begun, and no more");
        let listing = to.inner().list(Prefix::ROOT, Depth::All, 1000).unwrap();
        let chunks = listing.entries.iter().filter(|entry| entry.key.as_str().starts_with("v/"));
        assert!(chunks.filter(|entry| is_chunk(entry.key.as_key())).count() == 0);
    }
}

#[test]
fn variables_that_grow_are_checked_and_cleared_together() {
    const VARIABLES: u64 = 40;
    let memory = Arc::new(MemoryStore::new("test"));
    let session = session(Pool::with_threads(2).unwrap());
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "t", 0, true).unwrap();
    for number in 0..VARIABLES {
        let variable = VariableBuilder::new(format!("v{number}"), NcType::Int).dimensions(["t"]).chunks([4]);
        hierarchy.add_variable("/", variable).unwrap();
    }
    Dataset::create(memory.clone(), hierarchy, session, false).unwrap().finish().unwrap();

    let store = again(&memory, 20);
    let mut dataset = opened(store.clone());
    assert!(store.most_waiting() < 10);
    let trips = store.round_trips();
    // Whatever stood in 100 chunks is removed.
    dataset.resize("/v0", &[400]).unwrap();
    assert!(store.most_waiting() > 32, "{}", store.most_waiting());
    assert_eq!((store.round_trips() - trips, store.inner().counts().deletes), (1 + 100, 100));

    let (trips, before) = (store.round_trips(), store.inner().counts());
    dataset.flush().unwrap();
    let after = store.inner().counts();
    assert_eq!(after.deletes - before.deletes, (VARIABLES - 1) * 100 + 1, "the chunks, and the journal");
    let alone = store.round_trips() - trips - (after.deletes - before.deletes);
    assert!(alone - (after.writes - before.writes) <= 6, "{alone}: variables are requested one by one");
    assert_eq!(opened(memory).array("/v7").unwrap().shape(), [400]);
}
