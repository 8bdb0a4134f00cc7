//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_packbits::{PackBits, PackBitsCoder};
use proptest::prelude::*;

use crate::properties::{damage_is_survived, decode, round_trip};

#[test]
fn streams_of_numcodecs_are_accepted_and_made_again() {
    let cases = stored::cases::<PackBits>("packbits");
    assert_eq!(cases.len(), 21);
    for case in cases {
        let (raw, encoded) = (case.raw.as_ref().unwrap(), case.encoded.as_ref().unwrap());
        let env = case.env(raw.len());
        let bound = case.codec.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.output.size().unwrap().bound(), Some(encoded.len()));
        assert!(round_trip(&bound.coder, raw) == *encoded, "{} values", raw.len());
        assert!(decode(&bound.coder, encoded, raw.len()).as_ref() == Ok(raw), "{} values", raw.len());
    }
}

#[test]
fn chunks_of_zarr_python_are_accepted_and_made_again() {
    let zip = ncz_test_support::fixtures().join("zarr-python/v2-packbits.zip");
    let folder = ncz_test_support::unpack(&zip).unwrap();
    for chunk in ["0.0", "1.2", "2.1"] {
        let stream = std::fs::read(folder.path().join("v").join(chunk)).unwrap();
        let content = decode(&PackBitsCoder, &stream, 300).unwrap();
        assert!(content.len() == 300 && round_trip(&PackBitsCoder, &content) == stream);
    }
}

#[test]
fn failures_are_distinguished() {
    let kind = |bytes: &[u8], capacity| decode(&PackBitsCoder, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[], 10), ErrorKind::Truncated);
    assert_eq!(kind(&[1], 10), ErrorKind::Truncated);
    assert_eq!(kind(&[8, 0], 10), ErrorKind::Corrupt);
    // A bit after the last value.
    assert_eq!(kind(&[3, 0b1000_0100], 10), ErrorKind::Corrupt);
    assert_eq!(kind(&[3, 0b1000_1000], 4), ErrorKind::OutputFull { need: Some(5) });
    assert_eq!(decode(&PackBitsCoder, &[0], 0), Ok(vec![]));
}

#[test]
fn bytes_that_are_not_booleans_are_refused_with_their_index() {
    for len in [1, 7, 8, 9, 16, 30] {
        for at in 0..len {
            let mut values = vec![1; len];
            values[at] = 2;
            let error = PackBitsCoder.encode(&mut (), &values, &mut [0; 9]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "these values cannot be encoded: element {at} is 2, which packing into a bit would lose; truth values are 0 and 1"
                )
            );
        }
    }
}

proptest! {
    #[test]
    fn any_booleans_round_trip_through_their_bits(flags in proptest::collection::vec(any::<bool>(), 0..3000)) {
        let values: Vec<u8> = flags.iter().map(|&flag| flag.into()).collect();
        let stream = round_trip(&PackBitsCoder, &values);
        prop_assert_eq!(stream.len(), 1 + flags.len().div_ceil(8));
        prop_assert_eq!(usize::from(stream[0]), 8 * (stream.len() - 1) - flags.len());
        for (n, flag) in flags.iter().enumerate() {
            prop_assert_eq!(stream[1 + n / 8] & 0x80 >> (n % 8) != 0, *flag);
        }
    }

    #[test]
    fn another_length_never_gives_as_many_values(
        flags in proptest::collection::vec(any::<bool>(), 1..300),
        cut: proptest::sample::Index,
        more in any::<u8>(),
    ) {
        let values: Vec<u8> = flags.iter().map(|&flag| flag.into()).collect();
        let stream = round_trip(&PackBitsCoder, &values);
        let other = |bytes: &[u8]| decode(&PackBitsCoder, bytes, 5000).is_ok_and(|got| got.len() == values.len());
        prop_assert!(!other(&stream[..cut.index(stream.len())]));
        prop_assert!(!other(&[&stream[..], &[more]].concat()));
    }

    #[test]
    fn damage_and_garbage_are_survived(
        flags in proptest::collection::vec(any::<bool>(), 0..300),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        capacity in 0..300_usize,
    ) {
        let values: Vec<u8> = flags.iter().map(|&flag| flag.into()).collect();
        let stream = round_trip(&PackBitsCoder, &values);
        damage_is_survived(&PackBitsCoder, &stream, values.len(), &flips);
        let _ = decode(&PackBitsCoder, &garbage, capacity);
    }
}
