//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, ErrorKind};
use ncz_fletcher32::{Fletcher32, Fletcher32Coder};
use proptest::prelude::*;

use properties::{decode, encode, round_trip};

fn coder() -> Fletcher32Coder {
    Fletcher32::coder(&[]).unwrap()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 3 || case.filter_mask != 0 {
            continue;
        }
        let coder = Fletcher32::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn sums_of_old_hdf5_are_accepted() {
    let mut stream = encode(&coder(), b"chunks of long ago");
    let end = stream.len();
    stream.swap(end - 4, end - 3);
    stream.swap(end - 2, end - 1);
    assert_eq!(decode(&coder(), &stream, 18).as_deref(), Ok(&b"chunks of long ago"[..]));
}

#[test]
fn failures_are_distinguished() {
    let kind = |bytes: &[u8], capacity| decode(&coder(), bytes, capacity).unwrap_err().kind().clone();
    for length in 0..4 {
        assert_eq!(kind(&[0, 0, 0][..length], 10), ErrorKind::Truncated);
    }
    let mut stream = encode(&coder(), b"abcdef");
    assert_eq!(kind(&stream, 5), ErrorKind::OutputFull { need: Some(6) });
    stream[2] ^= 1;
    assert_eq!(kind(&stream, 6), ErrorKind::Checksum);
}

proptest! {
    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..30_000)) {
        round_trip(&coder(), &data);
    }

    // Any number of zero bytes sums to zero, so the data start with another byte.
    #[test]
    fn truncation_and_damage_are_seen(
        mut data in proptest::collection::vec(1..=254_u8, 5..2000),
        at: proptest::sample::Index,
        bit in 0..8_u32,
    ) {
        data[0] = 1;
        let stream = encode(&coder(), &data);
        let cut = &stream[..at.index(stream.len())];
        // A shorter piece ends in a sum of what precedes it by a chance of 2^-31.
        prop_assert!(decode(&coder(), cut, data.len()).is_err());
        let mut damaged = stream.clone();
        damaged[at.index(stream.len())] ^= 1 << bit;
        prop_assert!(decode(&coder(), &damaged, data.len()).is_err());
    }

    #[test]
    fn garbage_is_survived(garbage in proptest::collection::vec(any::<u8>(), 0..300), capacity in 0..300_usize) {
        let _ = decode(&coder(), &garbage, capacity);
    }
}
