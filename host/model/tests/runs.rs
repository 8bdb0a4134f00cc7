//! Slabs of many chunks that are ranges of a file: the right elements, in few requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::collections::HashMap;
use std::sync::Arc;

use ncz_model::{
    Array, ByteOrder, ChunkError, ChunkIndex, ChunkLocation, DataError, Dtype, Elements, Extent, Format,
    Hierarchy, NcType, NewFill, Pool, Session, Slab, Value, VariableBuilder, product,
};
use ncz_registry::Registry;
use ncz_registry::spec::ChainSpec;
use ncz_store::testing::{Counting, Remote};
use ncz_store::{Key, MemoryStore, Store, WriteMode};
use proptest::prelude::*;

const FILE: &str = "file";
const FILL: i16 = -1;

#[derive(Debug)]
struct Index(HashMap<Vec<u64>, Extent>);

impl ChunkIndex for Index {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        let extent = self.0.get(object).cloned().unwrap_or_default();
        *location = ChunkLocation { key: FILE.to_owned(), extent, filter_mask: 0 };
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        FILE
    }

    fn has_neighbours(&self) -> bool {
        true
    }
}

/// An array of big-endian numbers over a store with one file.
fn array(store: Arc<dyn Store>, shape: &[u64], chunk: &[u64], extents: HashMap<Vec<u64>, Extent>) -> Array {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    let names: Vec<String> = (0..shape.len()).map(|axis| format!("d{axis}")).collect();
    for (name, len) in names.iter().zip(shape) {
        hierarchy.add_dimension("/", name, *len, false).unwrap();
    }
    let variable = VariableBuilder::new("v", NcType::Short)
        .dimensions(names)
        .chunks(chunk.to_vec())
        .byte_order(ByteOrder::Big)
        .fill(NewFill::Value(Value::from(FILL)));
    hierarchy.add_variable("/", variable).unwrap();
    let session =
        Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::with_threads(2).unwrap());
    let variable = hierarchy.variable("v").unwrap();
    let chain = session.bind(variable, Format::NCZARR, &ChainSpec::default()).unwrap();
    assert_eq!(variable.dtype, Dtype::parse(">i2").unwrap());
    let array = Array::new(store, variable, shape.to_vec(), chain, session.pool).unwrap();
    array.with_chunks(Arc::new(Index(extents)))
}

fn file(bytes: &[u8]) -> MemoryStore {
    let store = MemoryStore::new("memory");
    store.write(Key::parse(FILE).unwrap(), bytes, WriteMode::Replace).unwrap();
    store
}

fn shorts(array: &Array, slab: &Slab) -> Result<Vec<i16>, DataError> {
    let mut bytes = vec![0; slab.elements().unwrap() as usize * 2];
    array.read_bytes(slab, Elements::Native, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| i16::from_ne_bytes(*bytes)).collect())
}

/// `count` records of 8 numbers, with `gap` bytes between them.
fn records(count: u64, gap: u64) -> (Vec<u8>, HashMap<Vec<u64>, Extent>) {
    let step = 16 + gap;
    let mut bytes = vec![0x55; (count * step) as usize];
    let extents = (0..count).map(|record| {
        for number in 0..8 {
            let at = (record * step + number * 2) as usize;
            bytes[at..at + 2].copy_from_slice(&((record * 8 + number) as i16).to_be_bytes());
        }
        (vec![record, 0], Extent::Range(record * step..record * step + 16))
    });
    let extents = extents.collect();
    (bytes, extents)
}

#[test]
fn records_that_follow_each_other_are_read_in_one_request() {
    let (bytes, extents) = records(1000, 0);
    let store = Arc::new(Counting::new(file(&bytes)));
    let array = array(store.clone(), &[1000, 8], &[1, 8], extents);
    assert_eq!(shorts(&array, &Slab::whole(&[1000, 8])).unwrap(), (0..8000).collect::<Vec<i16>>());
    assert_eq!((store.counts().reads, store.counts().bytes_read), (1, 16000));
}

#[test]
fn gaps_are_read_over_where_a_request_costs_more() {
    // 1 KiB between records: little on every store. 40 KiB: less than a round trip, but more than a local request.
    for (gap, local, remote) in [(1 << 10, 1, 1), (40 << 10, 100, 4)] {
        let (bytes, extents) = records(100, gap);
        let want: Vec<i16> = (0..100).map(|record| record * 8 + 3).collect();
        let column = Slab::new([0, 3], [100, 1]);
        let store = Arc::new(Counting::new(file(&bytes)));
        assert_eq!(
            shorts(&array(store.clone(), &[100, 8], &[1, 8], extents.clone()), &column).unwrap(),
            want
        );
        assert_eq!(store.counts().reads, local);
        let store = Arc::new(Counting::new(Remote::new(file(&bytes))));
        assert_eq!(shorts(&array(store.clone(), &[100, 8], &[1, 8], extents), &column).unwrap(), want);
        assert_eq!(store.counts().reads, remote);
    }
}

#[test]
fn far_records_do_not_make_a_run_of_gaps() {
    let (bytes, extents) = records(20, 900 << 10);
    let store = Arc::new(Counting::new(Remote::new(file(&bytes))));
    let array = array(store.clone(), &[20, 8], &[1, 8], extents);
    shorts(&array, &Slab::whole(&[20, 8])).unwrap();
    let counts = store.counts();
    assert!(counts.bytes_read < 12 << 20, "{counts:?}");
    assert!(counts.reads <= 20);
}

#[test]
fn a_file_that_ends_in_a_run_is_an_error_that_names_the_chunk() {
    let (bytes, extents) = records(10, 0);
    let array = array(Arc::new(file(&bytes[..100])), &[10, 8], &[1, 8], extents);
    let DataError::Chunk { variable, source, .. } = shorts(&array, &Slab::whole(&[10, 8])).unwrap_err()
    else {
        panic!()
    };
    assert_eq!(variable, "/v");
    let ChunkError::InShard { index, source } = *source else { panic!("{source:?}") };
    assert_eq!(index, [6, 0]);
    assert!(matches!(*source, ChunkError::Length { want: 16, got: 4 }), "{source:?}");
}

/// A shape, a chunk shape, what each chunk is, the order of the ranges in the file, and a slab.
fn cases() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Vec<u8>, Vec<u64>, Slab)> {
    let axis = (1u64..9, 1u64..5, 1u64..4).prop_flat_map(|(len, chunk, stride)| {
        (0..len).prop_flat_map(move |start| {
            (Just(len), Just(chunk), Just(start), 0..=(len - start).div_ceil(stride), Just(stride))
        })
    });
    prop::collection::vec(axis, 1..4).prop_flat_map(|axes| {
        let shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
        let chunk: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
        let start: Vec<u64> = axes.iter().map(|axis| axis.2).collect();
        let count: Vec<u64> = axes.iter().map(|axis| axis.3).collect();
        let slab = Slab::new(start, count).with_stride(axes.iter().map(|axis| axis.4).collect::<Vec<_>>());
        let chunks =
            shape.iter().zip(&chunk).map(|(len, chunk)| len.div_ceil(*chunk)).product::<u64>() as usize;
        let order = Just((0..chunks as u64).collect::<Vec<_>>()).prop_shuffle();
        (Just(shape), Just(chunk), prop::collection::vec(0u8..8, chunks), order, Just(slab))
    })
}

/// The coordinates of an element or chunk by its number.
fn at(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut index = vec![0; counts.len()];
    for (index, count) in index.iter_mut().zip(counts).rev() {
        *index = number % count;
        number /= count;
    }
    index
}

proptest! {
    #[test]
    fn a_slab_has_the_elements_of_its_chunks((shape, chunk, kinds, order, slab) in cases()) {
        let counts: Vec<u64> = shape.iter().zip(&chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let value = |index: &[u64]| index.iter().zip(&shape).fold(0, |sum, (index, len)| sum * len + index) as i16;
        let mut bytes = vec![0x55; 3];
        let mut extents = HashMap::new();
        for number in order {
            let index = at(number, &counts);
            let mut content = Vec::new();
            for element in 0..product(chunk.iter().copied()).unwrap() {
                let within = at(element, &chunk);
                let of: Vec<u64> = (0..shape.len()).map(|axis| index[axis] * chunk[axis] + within[axis]).collect();
                content.extend(value(&of).to_be_bytes());
            }
            let extent = match kinds[number as usize] {
                0 => continue,
                1 => Extent::Inline(content.into()),
                kind => {
                    let start = bytes.len() as u64;
                    // The range of a chunk that is cut along its slowest dimension may end there.
                    let rest = shape[0] - index[0] * chunk[0];
                    if kind == 2 && rest < chunk[0] && (1..shape.len()).all(|axis| shape[axis].is_multiple_of(chunk[axis])) {
                        content.truncate(content.len() / chunk[0] as usize * rest as usize);
                    }
                    bytes.extend(content);
                    let end = bytes.len() as u64;
                    bytes.extend(std::iter::repeat_n(0x55, if kind > 5 { 20_000 } else { usize::from(kind) }));
                    Extent::Range(start..end)
                }
            };
            extents.insert(index, extent);
        }
        let mut want = Vec::new();
        for element in 0..slab.elements().unwrap() {
            let within = at(element, slab.count());
            let of: Vec<u64> =
                (0..shape.len()).map(|axis| slab.start()[axis] + within[axis] * slab.stride()[axis]).collect();
            let index: Vec<u64> = of.iter().zip(&chunk).map(|(at, chunk)| at / chunk).collect();
            want.push(if extents.contains_key(&index) { value(&of) } else { FILL });
        }
        let near = array(Arc::new(file(&bytes)), &shape, &chunk, extents.clone());
        let far = array(Arc::new(Remote::new(file(&bytes))), &shape, &chunk, extents);
        for array in [near, far] {
            prop_assert_eq!(&shorts(&array, &slab).unwrap(), &want);
            let mut serial = vec![0; want.len() * 2];
            array.read_serial(&mut array.worker(), &slab, Elements::Stored, &mut serial).unwrap();
            let stored: Vec<u8> = want.iter().flat_map(|value| value.to_be_bytes()).collect();
            prop_assert_eq!(serial, stored);
        }
    }
}
