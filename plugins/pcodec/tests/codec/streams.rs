//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, Coder, Container, Dtype, Env, ErrorKind, Kind};
use ncz_pcodec::{Delta, Pcodec, PcodecCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// A coder for numbers of this type, by Pco's number.
fn coder(numbers: u32) -> PcodecCoder {
    with(&[8, 0, 0, u32::MAX, 1 << 18], numbers)
}

fn with(words: &[u32], numbers: u32) -> PcodecCoder {
    Pcodec::coder(&[words, &[numbers]].concat()).unwrap()
}

const F64: u32 = 6;
const I32: u32 = 3;

fn integers(count: i32) -> Vec<u8> {
    (0..count).flat_map(|n| (n % 1000 * n % 1000).to_le_bytes()).collect()
}

#[test]
fn streams_of_numcodecs_decode_forever_and_encode_to_the_bytes_of_the_same_version() {
    let (mut old, mut same) = (0, 0);
    let cases = stored::cases::<Pcodec>("pcodec");
    let makers = makers();
    for (case, maker) in cases.iter().zip(&makers) {
        let raw = case.raw.as_ref().unwrap();
        let env = case.env(raw.len());
        let bound = case.codec.bind(&env.chunk(), &env);
        if case.codec.delta == Delta::None && case.encoded.is_none() {
            // numcodecs calls this in pcodec 1.1 by a name that only 0.3 has.
            round_trip(&bound.unwrap().coder, raw);
            continue;
        }
        let Some(encoded) = &case.encoded else {
            let error = bound.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unsupported, "{}", case.name);
            continue;
        };
        let coder = bound.unwrap().coder;
        let decoded = decode(&coder, encoded, raw.len());
        assert!(decoded.as_ref() == Ok(raw), "{}: {decoded:?}", case.name);
        // numcodecs does not make an array of 0 numbers.
        assert!(case.decoded.as_ref() == Some(raw) || raw.is_empty(), "{}", case.name);
        if raw.len() < 400 {
            every_other_length_is_refused(&coder, encoded, raw.len());
        }
        let ours = round_trip(&coder, raw);
        if *maker {
            old += 1;
        } else {
            assert!(ours == *encoded, "{}: {} of {}", case.name, ours.len(), encoded.len());
            same += 1;
        }
    }
    assert_eq!((cases.len(), old, same), (262, 126, 124));
}

/// Whether the pinned version made the case, in the order of the cases.
fn makers() -> Vec<bool> {
    let path = ncz_test_support::fixtures().join("codecs/numcodecs/pcodec.json");
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    cases.iter().map(|case| case.get("by").is_none()).collect()
}

#[test]
fn every_type_has_its_coder_and_the_stream_knows_its_own() {
    let types =
        [(Kind::Int, 2), (Kind::Int, 4), (Kind::Int, 8), (Kind::UInt, 2), (Kind::UInt, 4), (Kind::UInt, 8)];
    let types = types.into_iter().chain([(Kind::Float, 2), (Kind::Float, 4), (Kind::Float, 8)]);
    for (kind, size) in types {
        let env = Env {
            dtype: Dtype::little(kind, size),
            array_shape: vec![100],
            chunk_shape: vec![100],
            container: Container::ZarrV2,
        };
        let bound = Pcodec::default().bind(&env.chunk(), &env).unwrap();
        let data: Vec<u8> = (0..100 * size).map(|n| (n / size % 7) as u8).collect();
        let stream = round_trip(&bound.coder, &data);
        assert_eq!(decode(&coder(I32), &stream, data.len()), Ok(data.clone()));
        // The working words by themselves make the same coder.
        assert_eq!(encode(&Pcodec::coder(&bound.working).unwrap(), &data), stream);
        let bare = Pcodec::coder(&[]).unwrap();
        assert_eq!(decode(&bare, &stream, data.len()), Ok(data.clone()));
        let error = bare.encode(&mut (), &data, &mut [0; 2000]).unwrap_err();
        assert!(error.to_string().contains("sixth word"), "{error}");
    }
}

#[test]
fn failures_are_distinguished() {
    let data = integers(1000);
    let stream = encode(&coder(I32), &data);
    let kind = |bytes: &[u8], capacity| decode(&coder(I32), bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..stream.len() {
        assert_eq!(kind(&stream[..cut], 4000), ErrorKind::Truncated, "{cut} of {}", stream.len());
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat(), 4000), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&stream, 3999), ErrorKind::OutputFull { need: None });
    assert_eq!(kind(b"this is not a stream of pco", 4000), ErrorKind::Corrupt);
    let odd = coder(I32).encode(&mut (), &data[..9], &mut [0; 100]).unwrap_err();
    assert_eq!(odd.to_string(), "not supported: 9 bytes are not whole numbers of 4 bytes");
}

/// The header of a stream in the newest format, without a count.
const HEADER: &[u8] = b"pco!\x03\0\0\x04\x01";

#[test]
fn counts_are_checked_before_memory_is_taken() {
    // A chunk of 2^24 numbers.
    let many = [HEADER, &[I32 as u8, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0]].concat();
    assert_eq!(*decode(&coder(I32), &many, 4000).unwrap_err().kind(), ErrorKind::OutputFull { need: None });
    // A dictionary (mode 4) of 2^25 - 1 numbers.
    let dictionary = 4_u32 | ((1 << 25) - 1) << 4;
    let dictionary = [HEADER, &[F64 as u8, 9, 0, 0], &dictionary.to_le_bytes(), &[0; 90]].concat();
    let error = decode(&coder(F64), &dictionary, 4000).unwrap_err();
    assert_eq!(error.to_string(), "the stream is truncated: a dictionary of 33554431 numbers is cut");
    // Differences from a number up to 2^24 positions before (variant 2, window log less one in five bits), after
    // each of the modes.
    let window = |log: u64| 2 | (log - 1) << 4;
    for (mode, at) in [(0_u128, 4), (1, 4 + 64), (2, 4 + 64), (3, 12)] {
        let chunk = |log: u64| {
            let metadata = mode | u128::from(window(log)) << at;
            [HEADER, &[F64 as u8, 9, 0, 0], &metadata.to_le_bytes(), &[0; 90]].concat()
        };
        let message = |log| decode(&coder(F64), &chunk(log), 4000).unwrap_err().to_string();
        assert_eq!(
            message(24),
            "the stream is damaged: a chunk of 10 numbers requires a window of 2^24 numbers",
            "{mode}"
        );
        assert!(!message(16).contains("window"), "{mode}: {}", message(16));
    }
}

#[test]
fn large_chunks_come_back_in_their_pages() {
    let data = integers(300_000);
    for page in [1 << 18, 1000, 299_999, u32::MAX] {
        let coder = with(&[4, 0, 0, u32::MAX, page], I32);
        round_trip(&coder, &data);
    }
}

fn any_coder() -> impl Strategy<Value = PcodecCoder> {
    let delta = prop_oneof![
        (Just(0_u32), prop_oneof![Just(u32::MAX), 0..=7_u32]),
        (Just(1_u32), Just(u32::MAX)),
        (Just(2_u32), 0..=7_u32),
        (Just(3_u32), Just(u32::MAX)),
    ];
    (0..=12_u32, 0..=1_u32, delta, prop_oneof![1..50_u32, Just(1 << 18)], 1..=9_u32).prop_map(
        |(level, mode, (delta, order), page, numbers)| with(&[level, mode, delta, order, page], numbers),
    )
}

proptest! {
    #[test]
    fn any_numbers_round_trip(
        coder in any_coder(),
        data in proptest::collection::vec(any::<u64>(), 0..200),
        small in proptest::collection::vec(0..9_u64, 0..600),
    ) {
        for data in [data, small] {
            let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
            round_trip(&coder, &bytes);
        }
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(coder in any_coder(), data in proptest::collection::vec(0..9_u64, 0..40)) {
        let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
        every_other_length_is_refused(&coder, &encode(&coder, &bytes), bytes.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        coder in any_coder(),
        data in proptest::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 1..400),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        first in proptest::collection::vec((0..40_usize, 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        kind in 1..=9_u8,
    ) {
        let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
        let stream = encode(&coder, &bytes);
        damage_is_survived(&coder, &stream, bytes.len(), &flips);
        damage_is_survived(&coder, &stream, bytes.len(), &first);
        damage_is_survived(&coder, &garbage, 1000, &[]);
        damage_is_survived(&coder, &[HEADER, &[kind, 99, 0, 0], &garbage].concat(), 1000, &[]);
        // Every mode and variant of differences, before garbage.
        for (mode, delta) in (0..5_u8).flat_map(|mode| (0..4_u8).map(move |delta| (mode, delta))) {
            let start = [mode | delta << 4];
            damage_is_survived(&coder, &[HEADER, &[kind, 99, 0, 0], &start, &garbage].concat(), 1000, &[]);
        }
    }
}
