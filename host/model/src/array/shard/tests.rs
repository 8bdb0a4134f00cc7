use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz_store::testing::Counting;
use ncz_store::{
    Capabilities, Depth, Key, Listing, MemoryStore, Prefix, ReadInto, ReadRange, Store, StoreError, StoreExt,
    WriteMode,
};
use proptest::prelude::*;

use super::super::tests::{bytes, open, variable};
use super::*;
use crate::array::Elements;
use crate::data_error::DataError;
use crate::hierarchy::{Order, Variable};
use crate::pool::Pool;

const KEY: &str = "v/c/0/0";

/// Shorts in shards of four chunks of eight bytes, followed by 64 bytes of entries.
fn small(sharding: impl FnOnce(&mut Sharding)) -> Variable {
    let mut shards = Sharding::new([4, 4]);
    sharding(&mut shards);
    variable(&[4, 4], &[2, 2], Order::C, false, Some(shards))
}

fn array(store: Arc<dyn Store>, variable: &Variable) -> Array {
    open(store, variable, &variable.shape, Pool::with_threads(2).unwrap())
}

fn read(array: &Array) -> Result<Vec<u8>, DataError> {
    let mut out = vec![0; array.shape().iter().product::<u64>() as usize * 2];
    array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut out)?;
    Ok(out)
}

fn chunk_error(error: DataError) -> ChunkError {
    match error {
        DataError::Chunk { key, source, .. } if key == KEY => *source,
        other => panic!("{other}"),
    }
}

fn words(index: &[u64]) -> Vec<u8> {
    index.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A shard as the specification defines it: chunks, entries, CRC-32C.
fn shard(chunks: &[u8], index: &[u64]) -> Vec<u8> {
    let index = words(index);
    [chunks, &index, &crc32c::crc32c(&index).to_le_bytes()].concat()
}

fn put(store: &dyn Store, object: &[u8]) {
    store.write(Key::parse(KEY).unwrap(), object, WriteMode::Replace).unwrap();
}

#[test]
fn a_shard_is_chunks_in_c_order_and_an_index() {
    let store = Arc::new(MemoryStore::new("test"));
    let data: Vec<i16> = (0..16).collect();
    let chunks: Vec<u8> = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15i16]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let written = |change: &dyn Fn(&mut Sharding)| {
        let array = array(store.clone(), &small(change));
        array.write_bytes(&Slab::whole(&[4, 4]), Elements::Native, &bytes(&data)).unwrap();
        store.read_vec(Key::parse(KEY).unwrap(), 1000).unwrap().unwrap()
    };
    let index = [0, 8, 8, 8, 16, 8, 24, 8];
    assert_eq!(written(&|_| ()), shard(&chunks, &index));
    assert_eq!(written(&|s| s.index_checksum = false), [&chunks[..], &words(&index)].concat());
    let big: Vec<u8> = index.iter().flat_map(|word: &u64| word.to_be_bytes()).collect();
    let sum = crc32c::crc32c(&big).to_le_bytes();
    assert_eq!(written(&|s| s.index_order = ByteOrder::Big), [&chunks[..], &big, &sum].concat());
    let index = words(&index.map(|word| if word == 8 { 8 } else { word + 68 }));
    let index = words(&[68, 8, 76, 8, 84, 8, 92, 8]).into_iter().chain(index).take(64).collect::<Vec<_>>();
    let sum = crc32c::crc32c(&index).to_le_bytes();
    assert_eq!(written(&|s| s.index_at_end = false), [&index[..], &sum, &chunks].concat());
}

#[test]
fn a_slab_reads_the_index_once_and_only_the_chunks_that_it_touches() {
    let shards = Sharding::new([1024, 1024]);
    let variable = variable(&[2048, 2048], &[64, 64], Order::C, false, Some(shards));
    let store = Arc::new(Counting::new(MemoryStore::new("test")));
    let array = open(store.clone(), &variable, &[2048, 2048], Pool::with_threads(3).unwrap());
    array.write_bytes(&Slab::whole(&[2048, 2048]), Elements::Native, &bytes(&vec![5; 2048 * 2048])).unwrap();
    assert_eq!(store.counts().reads, 0, "whole shards were read");
    assert_eq!(store.counts().writes, 4);
    let (index, chunk) = (256 * 16 + 4, 64 * 64 * 2);
    // One megabyte of 8, in rows of adjacent chunks; each of the three threads gets some.
    for (start, count, shards, chunks, ranges) in [
        ([0u64, 0u64], [512u64, 1024u64], 1, 8 * 16, 2..=4),
        ([10, 100], [1, 1], 1, 1, 1..=1),
        ([64, 64], [64, 128], 1, 2, 1..=2),
        ([1023, 1023], [2, 2], 4, 4, 4..=4),
        ([0, 64], [192, 64], 1, 3, 3..=3),
    ] {
        let mut out = vec![0; (count[0] * count[1] * 2) as usize];
        let before = store.counts();
        array.read_bytes(&Slab::new(start, count), Elements::Native, &mut out).unwrap();
        let after = store.counts();
        assert_eq!(
            after.bytes_read - before.bytes_read,
            shards * index + chunks * chunk,
            "{start:?} {count:?}"
        );
        assert_eq!(after.lens, before.lens, "the end of a shard gives its length");
        let reads = after.reads - before.reads - shards;
        assert!(ranges.contains(&reads), "{start:?} {count:?}: {reads} ranges");
        assert!(out == bytes(&vec![5; out.len() / 2]));
    }
    let before = store.counts();
    array.read_bytes(&Slab::whole(&[2048, 2048]), Elements::Native, &mut vec![0; 2048 * 2048 * 2]).unwrap();
    let after = store.counts();
    assert_eq!(
        (after.reads - before.reads, after.lens - before.lens),
        (4, 0),
        "small shards are read as a whole"
    );
}

#[test]
fn chunks_that_are_not_written_keep_their_stored_bytes_or_stay_missing() {
    let store = Arc::new(MemoryStore::new("test"));
    let variable = variable(&[3, 5], &[2, 2], Order::C, false, Some(Sharding::new([4, 4])));
    let array = array(store.clone(), &variable);
    let mut worker = array.worker();
    let shard = |key: &str| store.read_vec(Key::parse(key).unwrap(), 1000).unwrap();
    // The padding of a chunk that another program wrote shows that its bytes are kept.
    array.write_stored(&mut worker, &[1, 0], &bytes(&[1, 2, 3, 4])).unwrap();
    array.write_bytes(&Slab::new([1, 3], [1, 2]), Elements::Native, &bytes(&[5, 6])).unwrap();
    let chunks = [bytes(&[-7, -7, -7, 5]), bytes(&[1, 2, 3, 4])].concat();
    let index = [u64::MAX, u64::MAX, 0, 8, 8, 8, u64::MAX, u64::MAX];
    assert_eq!(shard(KEY).unwrap(), super::tests::shard(&chunks, &index));
    // Chunks beyond the end are missing.
    let index = [[0, 8].as_slice(), &[u64::MAX; 6]].concat();
    assert_eq!(shard("v/c/0/1").unwrap(), super::tests::shard(&bytes(&[-7, -7, 6, -7]), &index));
    let expected = [-7, -7, -7, -7, -7, -7, -7, -7, 5, 6, 1, 2, -7, -7, -7];
    assert_eq!(read(&array).unwrap(), bytes(&expected));
    assert_eq!(array.read_stored(&mut worker, &[0, 1]).unwrap(), Some(&bytes(&[-7, -7, -7, 5])[..]));
    assert_eq!(array.read_stored(&mut worker, &[0, 0]).unwrap(), None);
    assert_eq!(array.read_chunk(&mut worker, &[0, 0], &mut [0; 8]).unwrap(), None);
    let mut chunk = [0; 8];
    assert_eq!(array.read_chunk(&mut worker, &[1, 0], &mut chunk).unwrap(), Some(8));
    assert_eq!(chunk[..], bytes(&[1, 2, 3, 4]));
    array.write_chunk(&mut worker, &[0, 0], &chunk).unwrap();
    assert_eq!(array.read_stored(&mut worker, &[0, 0]).unwrap(), Some(&chunk[..]));
    for index in [[0, 3], [2, 0]] {
        array.read_chunk(&mut worker, &index, &mut chunk).unwrap_err();
        array.load_object(&mut worker, &index).unwrap_err();
    }
}

#[test]
fn objects_are_taken_apart_and_put_together() {
    let variable = variable(&[3, 5], &[2, 2], Order::F, true, Some(Sharding::new([4, 4])));
    let (one, two) = (Arc::new(MemoryStore::new("one")), Arc::new(MemoryStore::new("two")));
    let (from, to) = (array(one.clone(), &variable), array(two.clone(), &variable));
    from.write_bytes(&Slab::new([1, 3], [1, 2]), Elements::Native, &bytes(&[5, 6])).unwrap();
    assert_eq!((from.object_counts(), from.chunk_counts()), (vec![1, 2], vec![2, 3]));
    assert_eq!(from.object_index("v/c/0/1"), Some(vec![0, 1]));
    assert_eq!(from.object_index("v/c/1/0"), None);
    assert_eq!(from.object_slab(&[0, 1]), Slab::new([0, 4], [3, 1]));
    assert_eq!(from.object_chunks(&[0, 1]).collect::<Vec<_>>(), [[0, 2], [1, 2]]);
    let (mut reader, mut writer) = (from.worker(), to.worker());
    for index in [[0, 0], [0, 1]] {
        assert!(from.load_object(&mut reader, &index).unwrap());
        let written = to
            .encode_object(&mut writer, &index, &mut |chunk, out| {
                Ok(from.decode_loaded(&mut reader, chunk, out)?.is_some())
            })
            .unwrap();
        assert_eq!((written.chunks, written.bytes), (1, 8 + 68));
    }
    for key in ["v/c/0/0", "v/c/0/1"] {
        let key = Key::parse(key).unwrap();
        assert_eq!(one.read_vec(key, 1000).unwrap(), two.read_vec(key, 1000).unwrap());
    }
    let third = Arc::new(MemoryStore::new("three"));
    let empty = array(third.clone(), &variable);
    assert!(!empty.load_object(&mut reader, &[0, 0]).unwrap());
    let written = empty.encode_object(&mut writer, &[0, 0], &mut |_, _| Ok(false)).unwrap();
    assert_eq!(written, super::super::Written::default());
    assert_eq!(third.len(Key::parse(KEY).unwrap()).unwrap(), None);
}

#[test]
fn chunks_may_share_bytes_and_have_gaps() {
    let store = Arc::new(MemoryStore::new("test"));
    let array = array(store.clone(), &small(|_| ()));
    let gap = 1 << 20;
    let mut chunks = vec![0xaa; gap];
    chunks.extend(bytes(&[1, 2, 3, 4, 5, 6, 7, 8]));
    let gap = gap as u64;
    put(&*store, &shard(&chunks, &[gap + 4, 8, gap, 8, gap, 8, gap + 8, 8]));
    let expected = [3, 4, 1, 2, 5, 6, 3, 4, 1, 2, 5, 6, 3, 4, 7, 8];
    assert_eq!(read(&array).unwrap(), bytes(&expected));
}

#[test]
fn entries_of_an_index_are_checked() {
    let good = [0, 8, 8, 8, 16, 8, 24, 8];
    let chunks = bytes(&(0..16).collect::<Vec<_>>());
    let store = Arc::new(MemoryStore::new("test"));
    let array = array(store.clone(), &small(|_| ()));
    let mut serial = array.worker();
    let mut errors = |object: &[u8]| {
        put(&*store, object);
        let by_range =
            chunk_error(array.read_chunk(&mut serial, &[1, 0], &mut [0; 8]).unwrap_err()).to_string();
        let by_range = (by_range, chunk_error(read(&array).unwrap_err()));
        // A damaged shard is not rewritten either.
        array.write_bytes(&Slab::new([0, 0], [1, 1]), Elements::Native, &bytes(&[1])).unwrap_err();
        assert_eq!(store.read_vec(Key::parse(KEY).unwrap(), 1000).unwrap().unwrap(), object);
        by_range.1
    };
    for (third, expected) in [
        ((u64::MAX, 8), ShardError::HalfMissing { offset: u64::MAX, len: 8 }),
        ((8, u64::MAX), ShardError::HalfMissing { offset: 8, len: u64::MAX }),
        ((25, 8), ShardError::Outside { offset: 25, len: 8, low: 0, high: 32 }),
        ((32, 8), ShardError::Outside { offset: 32, len: 8, low: 0, high: 32 }),
        ((u64::MAX - 1, 8), ShardError::Outside { offset: u64::MAX - 1, len: 8, low: 0, high: 32 }),
        ((8, 1 << 50), ShardError::Outside { offset: 8, len: 1 << 50, low: 0, high: 32 }),
    ] {
        let mut index = good;
        (index[4], index[5]) = third;
        let found = errors(&shard(&chunks, &index));
        let ChunkError::InShard { index, source } = found else { panic!("{found}") };
        assert_eq!(index, [1, 0]);
        assert!(matches!(&*source, ChunkError::Shard(error) if *error == expected), "{source}");
    }
    let mut index = good;
    index[5] = 9;
    let ChunkError::InShard { source, .. } = errors(&shard(&chunks, &index)) else { panic!() };
    assert!(matches!(*source, ChunkError::TooLong { got: 9, most: 8, .. }), "{source}");
    index[5] = 7;
    put(&*store, &shard(&chunks, &index));
    let ChunkError::InShard { source, .. } = chunk_error(read(&array).unwrap_err()) else { panic!() };
    assert!(matches!(*source, ChunkError::Length { want: 8, got: 7 }), "{source}");

    let mut damaged = shard(&chunks, &good);
    damaged[40] ^= 1;
    assert!(matches!(errors(&damaged), ChunkError::Shard(ShardError::Checksum { .. })));
    assert!(matches!(errors(&[0; 67]), ChunkError::Shard(ShardError::Short { len: 67, index: 68 })));
    assert!(matches!(errors(&[]), ChunkError::Shard(ShardError::Short { len: 0, index: 68 })));
}

#[test]
fn shards_that_do_not_fit_the_chunks_are_refused() {
    let mut variable = small(|_| ());
    let chain = || FilterChain::bind(&[], &crate::array::codec_env(&variable, crate::Format::Zarr3)).unwrap();
    let chain = chain();
    let store = Arc::new(MemoryStore::new("test"));
    for shape in [vec![4], vec![3, 4], vec![0, 4], vec![1 << 40, 4], vec![u64::MAX - 1, u64::MAX - 1]] {
        variable.sharding = Some(Sharding::new(shape.clone()));
        let array = Array::new(store.clone(), &variable, vec![4, 4], chain.clone(), Pool::serial());
        assert!(matches!(array, Err(DataError::Unsupported { .. })), "{shape:?}");
    }
    variable.sharding = None;
    variable.order = Order::Axes(vec![1, 1]);
    Array::new(store, &variable, vec![4, 4], chain, Pool::serial()).unwrap_err();
}

/// A store in which another program replaces every object before the n-th operations that read.
#[derive(Debug)]
struct Replaced {
    inner: MemoryStore,
    objects: [Vec<u8>; 2],
    /// Bit n: before the n-th operation.
    when: u64,
    operations: AtomicU64,
}

impl Replaced {
    fn step(&self) {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        if number < 64 && self.when & (1 << number) != 0 {
            let turn = (self.when & ((1 << number) - 1)).count_ones() as usize;
            put(&self.inner, &self.objects[(turn + 1) % 2]);
        }
    }
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Store for Replaced {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    fn read(&self, key: Key<'_>, range: ReadRange, max: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.step();
        self.inner.read(key, range, max, out)
    }
    fn read_into(&self, key: Key<'_>, at: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.step();
        self.inner.read_into(key, at, out)
    }
    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.step();
        self.inner.len(key)
    }
    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        self.inner.write(key, bytes, mode)
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

proptest! {
    #[test]
    fn a_shard_replaced_while_it_is_read_gives_old_or_new_chunks(
        when in 0u64..1 << 12, at_end: bool, threads in 1usize..3,
    ) {
        // The second shard is longer and has its chunks in the reverse order.
        let chunk = |chunk: i16| bytes(&[chunk; 4]);
        let old = [chunk(1), chunk(2), chunk(3), chunk(4)].concat();
        let new = [chunk(0), chunk(14), chunk(13), chunk(12), chunk(11)].concat();
        let object = |chunks: &[u8], index: [u64; 8]| {
            let base = if at_end { 0 } else { 68 };
            let index = words(&index.map(|word| if word == 8 { 8 } else { (word & !1) + base }));
            let index = [&index[..], &crc32c::crc32c(&index).to_le_bytes()].concat();
            if at_end { [chunks, &index].concat() } else { [&index, chunks].concat() }
        };
        // Odd offsets, to distinguish them from lengths.
        let objects = [
            object(&old, [1, 8, 9, 8, 17, 8, 25, 8]),
            object(&new, [33, 8, 25, 8, 17, 8, 9, 8]),
        ];
        let inner = MemoryStore::new("test");
        put(&inner, &objects[0]);
        let store = Arc::new(Replaced { inner, objects, when, operations: AtomicU64::new(0) });
        let variable = small(|sharding| sharding.index_at_end = at_end);
        let array = open(store, &variable, &[4, 4], Pool::with_threads(threads).unwrap());
        // Two of four chunks, so that ranges are read.
        let mut out = [0; 16];
        match array.read_bytes(&Slab::new([0, 0], [2, 4]), Elements::Native, &mut out) {
            Ok(()) => {
                let (left, right) = (&out[..2], &out[4..6]);
                prop_assert!([1i16, 11].map(i16::to_ne_bytes).iter().any(|v| v == left), "{:?}", out);
                prop_assert!([2i16, 12].map(i16::to_ne_bytes).iter().any(|v| v == right), "{:?}", out);
            }
            Err(error) => {
                let mut error = chunk_error(error);
                if let ChunkError::InShard { source, .. } = error { error = *source; }
                prop_assert!(matches!(error, ChunkError::Shard(ShardError::Changed)), "{}", error);
            }
        }
    }

    #[test]
    fn any_bytes_are_chunks_or_an_error(
        object in prop::collection::vec(any::<u8>(), 0..120),
        index in any::<Option<[(u64, u64); 4]>>(),
        small_words: bool,
        at_end: bool,
    ) {
        let store = Arc::new(MemoryStore::new("test"));
        let variable = small(|sharding| {
            sharding.index_at_end = at_end;
            sharding.index_checksum = false;
        });
        let array = array(store.clone(), &variable);
        let object = match index {
            None => object,
            Some(entries) => {
                let word = |word: u64| if small_words { word % 70 } else { word };
                let index = words(&entries.iter().flat_map(|&(at, len)| [word(at), word(len) % 9]).collect::<Vec<_>>());
                if at_end { [object, index].concat() } else { [index, object].concat() }
            }
        };
        put(&*store, &object);
        let _ = read(&array);
        let _ = array.write_bytes(&Slab::new([1, 1], [2, 2]), Elements::Native, &bytes(&[1, 2, 3, 4]));
        let _ = array.read_bytes(&Slab::new([1, 1], [1, 1]), Elements::Native, &mut [0; 2]);
    }
}
