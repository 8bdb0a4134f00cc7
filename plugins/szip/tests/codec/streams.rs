//! Stored chunks through the codec, and what holds for every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, ErrorKind};
use ncz_szip::{Szip, SzipCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(mask: u32, block: u32, bits: u32, scanline: u32) -> SzipCoder {
    Szip::coder(&[mask, block, bits, scanline]).unwrap()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let (mut seen, mut masked) = (0, 0);
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 4 {
            continue;
        }
        let coder = Szip::coder(&filter.params).unwrap();
        let ours = round_trip(&coder, &case.raw);
        if case.filter_mask != 0 {
            // HDF5 skipped the filter because the data do not shrink; ours is a valid stream all the same.
            assert!(case.encoded == case.raw, "{}", case.name);
            masked += 1;
            continue;
        }
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert!(ours == case.encoded, "{}", case.name);
        seen += 1;
    }
    assert_eq!((seen, masked), (4, 6));
}

#[test]
fn failures_are_distinguished() {
    let szip = coder(169, 8, 16, 64);
    let data: Vec<u8> = (0..500_u16).flat_map(u16::to_le_bytes).collect();
    let stream = encode(&szip, &data);
    let kind = |bytes: &[u8], capacity| decode(&szip, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[], 1000), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..3], 1000), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..stream.len() - 1], 1000), ErrorKind::Truncated);
    assert_eq!(kind(&[&stream[..], b"rest"].concat(), 1000), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&stream, 999), ErrorKind::OutputFull { need: Some(1000) });
}

proptest! {
    #[test]
    fn any_bytes_round_trip(
        data in proptest::collection::vec(any::<u8>(), 0..500),
        mask in prop_oneof![Just(133_u32), Just(169)],
        block in (1..=16_u32).prop_map(|half| half * 2),
        bits in prop_oneof![Just(8_u32), Just(16), Just(32), Just(64)],
        scanline in 1..300_u32,
    ) {
        let whole = data.len() - data.len() % (bits as usize / 8);
        round_trip(&coder(mask, block, bits, scanline), &data[..whole]);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..9_u8, 0..200)) {
        let szip = coder(169, 8, 8, 32);
        every_other_length_is_refused(&szip, &encode(&szip, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(any::<u8>(), 0..500),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let szip = coder(169, 8, 8, 32);
        damage_is_survived(&szip, &encode(&szip, &data), data.len(), &flips);
        damage_is_survived(&szip, &garbage, 1000, &[]);
        damage_is_survived(&szip, &[&500_u32.to_le_bytes(), &garbage[..]].concat(), 1000, &[]);
    }
}
