//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, CodecConfig, Coder, Container, Dtype, Env, ErrorKind, Kind};
use ncz_hdf5_scaleoffset::{ScaleOffset, ScaleOffsetCoder};
use ncz_test_support::ChunkCase;
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// A coder for `count` elements of `dtype`.
fn coder(given: [u32; 2], dtype: Dtype, count: usize) -> ScaleOffsetCoder {
    let shape = vec![count as u64];
    let env = Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::Hdf5 };
    ScaleOffset::from_params(&given).unwrap().bind(&env.chunk(), &env).unwrap().coder
}

/// Checks that the chunk decodes to the same values as in HDF5, and that the input of HDF5 encodes to the same bytes.
fn check(case: &ChunkCase, given: &[u8]) {
    assert_eq!(case.filter_mask, 0);
    let words = &case.filters[0].params;
    let coder = ScaleOffset::coder(words).unwrap();
    assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
    let ours = encode(&coder, given);
    assert!(ours == case.encoded, "{}: {ours:02x?}", case.name);
    let codec = ScaleOffset::from_params(words).unwrap();
    assert_eq!(codec.to_params().as_ref(), Ok(words), "{}", case.name);
    if case.encoded.len() < 100 {
        every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
    }
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        if case.filters.len() == 1 && case.filters[0].id == 6 {
            // Data that have already lost their digits encode to the same bytes.
            check(&case, &case.raw);
            seen += 1;
        }
    }
    assert_eq!(seen, 5);
}

#[test]
fn every_dtype_and_edge_decodes_to_the_byte_and_encodes_to_the_same_bytes() {
    let cases = ncz_test_support::edges("scaleoffset").unwrap();
    cases.iter().for_each(|case| check(&case.chunk, &case.given));
    assert_eq!(cases.len(), 396);
}

#[test]
fn infinite_numbers_and_nan_are_kept() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -f32::MAX] {
        let data = [1.25_f32, number, 3.75, 1e-40].map(f32::to_be_bytes).concat();
        let coder = coder([0, 2], Dtype::big(Kind::Float, 4), 4);
        assert_eq!(round_trip(&coder, &data).len(), 21 + 16);
    }
    for number in [f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX] {
        let data = [1.0, number, -f64::MAX].map(f64::to_le_bytes).concat();
        round_trip(&coder([0, 5], Dtype::little(Kind::Float, 8), 3), &data);
    }
}

#[test]
fn digits_are_lost_to_half_a_unit_of_the_last_one_kept() {
    let data: Vec<f64> = (0..1000).map(|n| 280.0 + f64::from(n * n % 977) / 37.0).collect();
    let bytes: Vec<u8> = data.iter().flat_map(|number| number.to_le_bytes()).collect();
    for digits in -2..9_i32 {
        let coder = coder([0, digits as u32], Dtype::little(Kind::Float, 8), 1000);
        let decoded = decode(&coder, &encode(&coder, &bytes), 8000).unwrap();
        let unit = 10_f64.powi(-digits);
        for (number, bytes) in data.iter().zip(decoded.as_chunks().0) {
            let error = (f64::from_le_bytes(*bytes) - number).abs();
            assert!(error <= unit * 0.5001, "{digits} digits: {number} off by {error}");
        }
    }
}

#[test]
fn all_bits_of_integers_are_a_copy() {
    let coder = coder([2, 16], Dtype::big(Kind::Int, 2), 3);
    assert_eq!(round_trip(&coder, b"abcdef"), b"abcdef");
    assert_eq!(*decode(&coder, b"abcde", 9).unwrap_err().kind(), ErrorKind::Size { want: 6, got: 5 });
}

#[test]
fn failures_are_distinguished() {
    let coder = coder([2, 0], Dtype::little(Kind::UInt, 2), 100);
    let data: Vec<u8> = (0..100_u16).flat_map(|n| (1000 + n % 8).to_le_bytes()).collect();
    let stream = round_trip(&coder, &data);
    let kind = |bytes: &[u8], capacity| decode(&coder, bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..stream.len() {
        assert_eq!(kind(&stream[..cut], 200), ErrorKind::Truncated);
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat(), 200), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&stream, 199), ErrorKind::OutputFull { need: Some(200) });
    let mut wide = stream;
    wide[0] = 17;
    assert_eq!(kind(&wide, 200), ErrorKind::Corrupt);
    let error = coder.encode(&mut (), &data[..198], &mut [0; 300]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Size { want: 200, got: 198 });
}

/// Types and the given words for them.
fn kinds() -> impl Strategy<Value = (Dtype, [u32; 2])> {
    let integers = (prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)], any::<(bool, bool)>());
    integers.prop_map(|(size, (signed, big))| {
        let kind = if signed { Kind::Int } else { Kind::UInt };
        (if big { Dtype::big(kind, size) } else { Dtype::little(kind, size) }, [2, 0])
    })
}

proptest! {
    #[test]
    fn any_integers_round_trip(
        data in proptest::collection::vec(any::<u8>(), 0..800),
        spread in 0..64_u32,
        (dtype, given) in kinds(),
    ) {
        // Of numbers of all sizes, or of such that have few bits.
        let mut data = data[..data.len() - data.len() % dtype.size].to_vec();
        for element in data.chunks_mut(dtype.size) {
            let most = if dtype.order == ncz_codec::ByteOrder::Big { 0 } else { dtype.size - 1 };
            element[most] >>= spread % 8;
        }
        round_trip(&coder(given, dtype, data.len() / dtype.size), &data);
    }

    #[test]
    fn any_floats_give_a_stream_that_decodes_to_as_many(
        data in proptest::collection::vec(any::<f32>(), 0..100),
        digits in any::<i32>(),
        few in -9..9_i32,
    ) {
        for digits in [digits, few] {
            let bytes: Vec<u8> = data.iter().flat_map(|number| number.to_le_bytes()).collect();
            let coder = coder([0, digits as u32], Dtype::little(Kind::Float, 4), data.len());
            let stream = encode(&coder, &bytes);
            prop_assert_eq!(decode(&coder, &stream, bytes.len()).unwrap().len(), bytes.len());
        }
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 64..=64),
        (dtype, given) in kinds(),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        words in proptest::collection::vec(prop_oneof![0..9_u32, any::<u32>()], 20..=20),
    ) {
        let coder = coder(given, dtype, 64 / dtype.size);
        damage_is_survived(&coder, &encode(&coder, &data), 64, &flips);
        damage_is_survived(&coder, &garbage, 64, &[]);
        if let Ok(coder) = ScaleOffset::coder(&words) {
            damage_is_survived(&coder, &garbage, 1000, &[]);
        }
    }
}
