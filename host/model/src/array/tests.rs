use ncz_store::{Key, MemoryStore, StoreExt};
use proptest::prelude::*;

use super::*;
use crate::hierarchy::{Hierarchy, NewFill, Order, Sharding, VariableBuilder};
use crate::{NcType, Value};

/// An array in memory without codecs, of shorts that start as -7.
pub(super) fn shorts(
    shape: &[u64],
    stored: &[u64],
    chunk: &[u64],
    order: Order,
    big: bool,
    pool: Pool,
) -> (Arc<MemoryStore>, Array) {
    let variable = variable(stored, chunk, order, big, None);
    let store = Arc::new(MemoryStore::new("test"));
    let array = open(store.clone(), &variable, shape, pool);
    (store, array)
}

/// A variable of shorts whose missing elements are -7.
pub(super) fn variable(
    shape: &[u64],
    chunk: &[u64],
    order: Order,
    big: bool,
    sharding: Option<Sharding>,
) -> Variable {
    let mut dataset = Hierarchy::new(if sharding.is_some() { Format::Zarr3 } else { Format::Zarr2 });
    let names: Vec<String> = (0..shape.len()).map(|d| format!("d{d}")).collect();
    for (name, &len) in names.iter().zip(shape) {
        dataset.add_dimension("/", name, len, true).unwrap();
    }
    let mut new = VariableBuilder::new("v", NcType::Short)
        .dimensions(names)
        .chunks(chunk)
        .order(order)
        .byte_order(if big { ByteOrder::Big } else { ByteOrder::Little })
        .fill(NewFill::Value(Value::from(-7i16)));
    if let Some(sharding) = sharding {
        new = new.sharding(sharding);
    }
    dataset.add_variable("/", new).unwrap().clone()
}

/// The data of a variable without codecs.
pub(super) fn open(store: Arc<dyn Store>, variable: &Variable, shape: &[u64], pool: Pool) -> Array {
    let chain = FilterChain::bind(&[], &codec_env(variable, Format::Zarr2)).unwrap();
    Array::new(store, variable, shape.to_vec(), chain, pool).unwrap()
}

pub(super) fn bytes(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// The positions of a slab's elements in a flat array, in C order.
fn positions(shape: &[u64], start: &[u64], count: &[u64], stride: &[u64]) -> Vec<usize> {
    let total: u64 = count.iter().product();
    (0..total)
        .map(|element| {
            let mut rest = element;
            let mut at = vec![0; shape.len()];
            for d in (0..shape.len()).rev() {
                at[d] = start[d] + (rest % count[d]) * stride[d];
                rest /= count[d];
            }
            at.iter().zip(shape).fold(0, |offset, (i, len)| offset * len + i) as usize
        })
        .collect()
}

/// An array and a slab of it. For each dimension: its length, the chunk length, the chunks in a shard, and start, count
/// and stride of the slab.
type Case = Vec<Side>;

type Side = (u64, u64, u64, u64, u64, u64);

/// The stored layout of the array: a permutation, and the shards' index.
type Layout = (Vec<usize>, bool, Option<(bool, bool, bool)>);

fn cases() -> impl Strategy<Value = (Case, Layout, usize)> {
    let dimension = (1u64..10, 1u64..5, 1u64..4, 1u64..4).prop_flat_map(|(len, chunk, per_shard, stride)| {
        (0..len).prop_flat_map(move |start| {
            let most = (len - start).div_ceil(stride);
            (Just(len), Just(chunk), Just(per_shard), Just(start), 0..=most, Just(stride))
        })
    });
    (prop::collection::vec(dimension, 0..4), 1usize..4).prop_flat_map(|(case, threads)| {
        let axes = Just((0..case.len()).collect::<Vec<usize>>()).prop_shuffle();
        let layout = (axes, any::<bool>(), any::<Option<(bool, bool, bool)>>());
        (Just(case), layout, Just(threads))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn slabs_written_and_read_are_those_of_a_plain_array((case, layout, threads) in cases(), seed: u16) {
        let of = |what: fn(&Side) -> u64| case.iter().map(what).collect::<Vec<u64>>();
        let (shape, chunk) = (of(|d| d.0), of(|d| d.1));
        let (start, count, stride) = (of(|d| d.3), of(|d| d.4), of(|d| d.5));
        let (axes, big, index) = layout;
        let sharding = index.filter(|_| !shape.is_empty()).map(|(big, checksum, at_end)| Sharding {
            index_order: if big { ByteOrder::Big } else { ByteOrder::Little },
            index_checksum: checksum,
            index_at_end: at_end,
            ..Sharding::new(of(|d| d.1 * d.2))
        });
        let variable = variable(&shape, &chunk, Order::from_axes(axes), big, sharding);
        let pool = Pool::with_threads(threads).unwrap();
        let array = open(Arc::new(MemoryStore::new("test")), &variable, &shape, pool);
        let mut worker = array.worker();
        let mut model = vec![-7i16; shape.iter().product::<u64>() as usize];
        let slab = Slab::new(start.clone(), count.clone()).with_stride(stride.clone());
        // The slab, then every second element, then the slab again: chunks are made, changed and kept.
        let half = Slab::new(vec![0; shape.len()], of(|d| d.0.div_ceil(2))).with_stride(vec![2; shape.len()]);
        for (round, slab) in [&slab, &half, &slab].into_iter().enumerate() {
            let at = positions(&shape, slab.start(), slab.count(), slab.stride());
            let values: Vec<i16> =
                (0..at.len()).map(|i| (i as i16).wrapping_mul(31).wrapping_add(seed as i16) ^ round as i16).collect();
            if round == 1 {
                array.write_serial(&mut worker, slab, Elements::Native, &bytes(&values)).unwrap();
            } else {
                array.write_bytes(slab, Elements::Native, &bytes(&values)).unwrap();
            }
            for (&position, &value) in at.iter().zip(&values) {
                model[position] = value;
            }
            let mut out = vec![0; model.len() * 2];
            array.read_bytes(&Slab::whole(&shape), Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&model));
            let mut out = vec![0; values.len() * 2];
            array.read_bytes(slab, Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&values));
            array.read_serial(&mut worker, slab, Elements::Native, &mut out).unwrap();
            prop_assert_eq!(&out, &bytes(&values));
        }
    }

    #[test]
    fn what_netcdf_shows_beyond_the_stored_array_is_fill(
        lens in prop::collection::vec((1u64..7, 0u64..4, 1u64..4), 1..3), fortran: bool,
    ) {
        let stored: Vec<_> = lens.iter().map(|d| d.0).collect();
        let shape: Vec<_> = lens.iter().map(|d| d.0 + d.1).collect();
        let chunk: Vec<_> = lens.iter().map(|d| d.2).collect();
        let order = if fortran { Order::F } else { Order::C };
        let (store, array) = shorts(&shape, &stored, &chunk, order.clone(), false, Pool::serial());
        let values: Vec<i16> = (0..stored.iter().product::<u64>() as i16).collect();
        array.write_bytes(&Slab::whole(&stored), Elements::Native, &bytes(&values)).unwrap();
        // Padding that another program wrote at the array's end is not data.
        let counts = array.chunk_counts();
        for number in 0..counts.iter().product::<u64>() {
            let index: Vec<u64> =
                if counts.len() == 1 { vec![number] } else { vec![number / counts[1], number % counts[1]] };
            let key = format!("v/{}", index.iter().map(u64::to_string).collect::<Vec<_>>().join("."));
            let key = Key::parse(&key).unwrap();
            let mut chunk_bytes = store.read_vec(key, 1 << 20).unwrap().unwrap();
            let part = array.chunk_slab(&index);
            if part.elements().unwrap() * 2 < chunk_bytes.len() as u64 {
                let mut padded = vec![0x55; chunk_bytes.len()];
                let inside = positions(&chunk, &vec![0; chunk.len()], part.count(), &vec![1; chunk.len()]);
                let inside: Vec<usize> = if order == Order::C || chunk.len() == 1 { inside } else {
                    let (rows, columns) = (chunk[0] as usize, chunk[1] as usize);
                    inside.iter().map(|&p| (p % columns) * rows + p / columns).collect()
                };
                for p in inside { padded[2 * p..2 * p + 2].copy_from_slice(&chunk_bytes[2 * p..2 * p + 2]); }
                chunk_bytes = padded;
                store.write(key, &chunk_bytes, ncz_store::WriteMode::Replace).unwrap();
            }
        }
        let mut model = vec![-7i16; shape.iter().product::<u64>() as usize];
        let all = positions(&shape, &vec![0; shape.len()], &stored, &vec![1; shape.len()]);
        for (position, value) in all.into_iter().zip(&values) {
            model[position] = *value;
        }
        let mut out = vec![0; model.len() * 2];
        array.read_bytes(&Slab::whole(&shape), Elements::Native, &mut out).unwrap();
        prop_assert_eq!(out, bytes(&model));
    }
}

#[test]
fn a_chunk_of_another_length_is_an_error_that_names_it() {
    let (store, array) = shorts(&[4, 4], &[4, 4], &[2, 2], Order::C, false, Pool::with_threads(2).unwrap());
    store.write(Key::parse("v/1.0").unwrap(), &[0; 7], ncz_store::WriteMode::Replace).unwrap();
    let error = array.read_bytes(&Slab::whole(&[4, 4]), Elements::Native, &mut [0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "variable \"/v\", chunk \"v/1.0\" in memory:test");
    let DataError::Chunk { source, .. } = error else { panic!("{error}") };
    assert!(matches!(*source, ChunkError::Length { want: 8, got: 7 }));
    store.write(Key::parse("v/1.0").unwrap(), &[0; 9], ncz_store::WriteMode::Replace).unwrap();
    array.read_bytes(&Slab::whole(&[4, 4]), Elements::Native, &mut [0; 32]).unwrap_err();
    array.read_bytes(&Slab::new([0, 0], [2, 4]), Elements::Native, &mut [0; 16]).unwrap();
}

#[test]
fn a_chunk_longer_than_its_codecs_can_make_is_refused_before_it_is_read() {
    let (store, array) = shorts(&[4], &[4], &[4], Order::C, false, Pool::serial());
    store.write(Key::parse("v/0").unwrap(), &[0; 9], ncz_store::WriteMode::Replace).unwrap();
    let error = array.read_stored(&mut array.worker(), &[0]).unwrap_err();
    let DataError::Chunk { source, .. } = error else { panic!("{error}") };
    assert!(matches!(*source, ChunkError::TooLong { got: 9, most: 8, .. }), "{source}");
}

#[test]
fn slabs_and_buffers_that_do_not_fit_are_refused() {
    let (_, array) = shorts(&[4], &[4], &[2], Order::C, false, Pool::serial());
    assert!(array.read_bytes(&Slab::new([1], [4]), Elements::Native, &mut [0; 8]).is_err());
    assert!(array.read_bytes(&Slab::new([0], [4]), Elements::Native, &mut [0; 7]).is_err());
    assert!(array.read_bytes(&Slab::new([0, 0], [4, 1]), Elements::Native, &mut [0; 8]).is_err());
    assert_eq!(
        array.read_bytes(&Slab::new([1], [4]), Elements::Native, &mut [0; 8]).unwrap_err().netcdf_code(),
        -57
    );
    array.read_bytes(&Slab::new([4], [0]), Elements::Native, &mut []).unwrap();
}

#[test]
fn a_single_element_may_have_any_stride() {
    let (_, array) = shorts(&[4, 4], &[4, 4], &[2, 2], Order::F, true, Pool::serial());
    let slab = Slab::new([3, 2], [1, 1]).with_stride([u64::MAX, u64::MAX]);
    array.write_bytes(&slab, Elements::Native, &bytes(&[5])).unwrap();
    let mut out = [0; 2];
    array.read_bytes(&slab, Elements::Native, &mut out).unwrap();
    assert_eq!(out, 5i16.to_ne_bytes());
}

#[test]
fn chunks_that_the_array_does_not_have_are_refused() {
    let (store, array) = shorts(&[4, 4], &[4, 3], &[2, 2], Order::C, false, Pool::serial());
    let mut worker = array.worker();
    let chunk = [0; 8];
    for index in [&[2u64, 0] as &[u64], &[0, 2], &[0], &[0, 0, 0], &[u64::MAX, 0]] {
        let error = array.write_chunk(&mut worker, index, &chunk).unwrap_err();
        assert!(matches!(error, DataError::Slab { source: SlabError::Chunk { .. }, .. }), "{error}");
        array.write_stored(&mut worker, index, &chunk).unwrap_err();
        array.read_stored(&mut worker, index).unwrap_err();
        array.read_chunk(&mut worker, index, &mut [0; 8]).unwrap_err();
    }
    assert_eq!(array.chunk_slab(&[u64::MAX, 0]).elements(), Some(0));
    assert!(store.list(ncz_store::Prefix::ROOT, ncz_store::Depth::All, 10).unwrap().entries.is_empty());
    array.write_chunk(&mut worker, &[1, 1], &chunk).unwrap();
}

#[test]
fn stored_bytes_without_codecs_are_a_whole_chunk() {
    let (store, array) = shorts(&[4, 4], &[4, 4], &[2, 2], Order::C, false, Pool::serial());
    let mut worker = array.worker();
    for len in [0, 7, 9] {
        let error = array.write_stored(&mut worker, &[1, 0], &vec![0; len]).unwrap_err();
        let DataError::Chunk { source, .. } = error else { panic!("{error}") };
        assert!(matches!(*source, ChunkError::Length { want: 8, got } if got == len as u64), "{source}");
    }
    assert!(store.list(ncz_store::Prefix::ROOT, ncz_store::Depth::All, 10).unwrap().entries.is_empty());
    array.write_stored(&mut worker, &[1, 0], &[0; 8]).unwrap();
}

#[test]
fn codecs_of_another_variable_are_refused() {
    let mut dataset = Hierarchy::new(Format::Zarr2);
    dataset.add_dimension("/", "x", 5, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Int).dimensions(["x"]).chunks([5]);
    let variable = dataset.add_variable("/", new).unwrap();
    let other = Env { chunk_shape: vec![4], ..codec_env(variable, Format::Zarr2) };
    let chain = FilterChain::bind(&[], &other).unwrap();
    let store = Arc::new(MemoryStore::new("test"));
    Array::new(store, variable, vec![5], chain, Pool::serial()).unwrap_err();
}

#[test]
fn codecs_of_version_3_see_lengths_as_transpose_made_them() {
    for (order, chunk, array) in [
        (Order::C, [2, 3, 4], [5, 6, 7]),
        (Order::F, [4, 3, 2], [7, 6, 5]),
        (Order::Axes(vec![2, 0, 1]), [4, 2, 3], [7, 5, 6]),
    ] {
        let variable = Variable { order, ..variable(&[5, 6, 7], &[2, 3, 4], Order::C, false, None) };
        let env = codec_env(&variable, Format::Zarr3);
        assert_eq!((env.chunk_shape, env.array_shape), (chunk.to_vec(), array.to_vec()));
        assert_eq!(codec_env(&variable, Format::Zarr2).chunk_shape, [2, 3, 4]);
    }
}
