//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, CodecConfig, ErrorKind};
use ncz_crc32::{Crc32, Crc32Coder};
use proptest::prelude::*;

use properties::{decode, encode, round_trip};

fn coders() -> [Crc32Coder; 2] {
    [Crc32::coder(&[]).unwrap(), Crc32::coder(&[1]).unwrap()]
}

/// The sum, bit by bit (RFC 1952, section 8).
fn slow(data: &[u8]) -> u32 {
    !data.iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[test]
fn streams_of_numcodecs_are_accepted_and_made_again() {
    let cases = stored::cases::<Crc32>("crc32");
    assert_eq!(cases.len(), 21);
    for case in cases {
        let coder = Crc32::coder(&case.codec.to_params().unwrap()).unwrap();
        let (raw, encoded) = (case.raw.as_ref().unwrap(), case.encoded.as_ref().unwrap());
        assert!(round_trip(&coder, raw) == *encoded, "{}, {} bytes", case.name, raw.len());
        assert!(decode(&coder, encoded, raw.len()).as_ref() == Ok(raw), "{}, {} bytes", case.name, raw.len());
    }
}

#[test]
fn failures_are_distinguished() {
    for coder in coders() {
        let kind = |bytes: &[u8], capacity| decode(&coder, bytes, capacity).unwrap_err().kind().clone();
        for length in 0..4 {
            assert_eq!(kind(&[0, 0, 0][..length], 10), ErrorKind::Truncated);
        }
        let mut stream = encode(&coder, b"abcdef");
        assert_eq!(kind(&stream, 5), ErrorKind::OutputFull { need: Some(6) });
        stream[4] ^= 1;
        assert_eq!(kind(&stream, 6), ErrorKind::Checksum);
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip_with_their_sum(data in proptest::collection::vec(any::<u8>(), 0..40_000)) {
        let [start, end] = coders();
        let sum = slow(&data).to_le_bytes();
        prop_assert_eq!(round_trip(&start, &data), [&sum, &data[..]].concat());
        prop_assert_eq!(round_trip(&end, &data), [&data[..], &sum].concat());
    }

    #[test]
    fn truncation_addition_and_damage_are_seen(
        data in proptest::collection::vec(any::<u8>(), 1..2000),
        at: proptest::sample::Index,
        bit in 0..8_u32,
        more in any::<u8>(),
    ) {
        for coder in coders() {
            let stream = encode(&coder, &data);
            // A shorter or longer piece has the right sum by a chance of 2^-32.
            prop_assert!(decode(&coder, &stream[..at.index(stream.len())], data.len()).is_err());
            prop_assert!(decode(&coder, &[&stream[..], &[more]].concat(), data.len() + 1).is_err());
            let mut damaged = stream.clone();
            damaged[at.index(stream.len())] ^= 1 << bit;
            prop_assert!(decode(&coder, &damaged, data.len()).is_err());
        }
    }

    #[test]
    fn garbage_is_survived(garbage in proptest::collection::vec(any::<u8>(), 0..300), capacity in 0..300_usize) {
        for coder in coders() {
            let _ = decode(&coder, &garbage, capacity);
        }
    }
}
