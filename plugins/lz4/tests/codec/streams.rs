//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_lz4::{Lz4, Lz4Coder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(acceleration: u32) -> Lz4Coder {
    Lz4::coder(&[acceleration]).unwrap()
}

/// The content of the streams under `tests/fixtures/codecs/lz4`.
fn values(count: u64) -> Vec<u8> {
    (0..count).flat_map(|n| (((n * n) >> 6) % 5003).to_le_bytes()[..4].to_vec()).collect()
}

#[test]
fn streams_of_numcodecs_decode_forever_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for entry in std::fs::read_dir(ncz_test_support::fixtures().join("codecs/lz4")).unwrap() {
        let path = entry.unwrap().path();
        let (count, acceleration) = path.file_name().unwrap().to_str().unwrap().split_once('-').unwrap();
        let (data, coder) = (values(count.parse().unwrap()), coder(acceleration.parse().unwrap()));
        let stream = std::fs::read(&path).unwrap();
        assert!(decode(&coder, &stream, data.len()).as_ref() == Ok(&data), "{path:?}");
        assert!(round_trip(&coder, &data) == stream, "{path:?}");
        if stream.len() < 2000 {
            every_other_length_is_refused(&coder, &stream, data.len());
        }
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn acceleration_makes_larger_streams() {
    let data = values(20_000);
    let lengths = [1, 100, 65_537].map(|acceleration| round_trip(&coder(acceleration), &data).len());
    assert!(lengths.is_sorted() && lengths[0] < lengths[2], "{lengths:?}");
    // Less than 1 is 1, also as the word of a negative number.
    for acceleration in [0, u32::MAX, 1 << 31] {
        assert_eq!(encode(&coder(acceleration), &data), encode(&coder(1), &data));
    }
}

#[test]
fn failures_are_distinguished() {
    let lz4 = coder(1);
    let data = values(300);
    let stream = encode(&lz4, &data);
    let kind = |bytes: &[u8], capacity| decode(&lz4, bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..5 {
        assert_eq!(kind(&stream[..cut], 1200), ErrorKind::Truncated);
    }
    assert_eq!(kind(&stream[..stream.len() - 1], 1200), ErrorKind::Corrupt);
    assert_eq!(kind(&stream, 1199), ErrorKind::OutputFull { need: Some(1200) });
    let mut less = stream.clone();
    less[0] -= 4;
    assert_eq!(kind(&less, 1200), ErrorKind::Corrupt);
    let mut more = stream;
    more[0] += 4;
    assert_eq!(kind(&more, 1204), ErrorKind::Truncated);
}

#[test]
fn no_stream_states_more_than_it_can_hold() {
    for bytes in [&b"\xff\xff\xff\x7fabc"[..], b"\xff\xff\xff\xff\0", b"\x00\x01\0\0\0"] {
        let error = coder(1).decoded_len(bytes).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..3000), acceleration: u32) {
        round_trip(&coder(acceleration), &data);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..4_u8, 0..300)) {
        let lz4 = coder(1);
        every_other_length_is_refused(&lz4, &encode(&lz4, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let lz4 = coder(1);
        damage_is_survived(&lz4, &encode(&lz4, &data), data.len(), &flips);
        damage_is_survived(&lz4, &garbage, 1000, &[]);
        damage_is_survived(&lz4, &[&500_u32.to_le_bytes(), &garbage[..]].concat(), 1000, &[]);
    }
}
