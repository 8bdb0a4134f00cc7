//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_bitshuffle::{Bitshuffle, BitshuffleCoder};
use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_test_support::ChunkCase;
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

const LZ4: u32 = 2;
const ZSTD: u32 = 3;

fn coder(size: u32, block: u32, compressor: u32) -> BitshuffleCoder {
    Bitshuffle::coder(&[0, 4, size, block, compressor, 3]).unwrap()
}

/// The chunk decodes to the byte and our own bytes are those of the filter.
fn check(case: &ChunkCase) {
    let coder = Bitshuffle::coder(&case.filters[0].params).unwrap();
    assert_eq!(case.filter_mask, 0);
    assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
    assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
    if case.encoded.len() < 300 && case.filters[0].params.get(4).is_some_and(|&compressor| compressor > 0) {
        every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
    }
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let chunks = ncz_test_support::chunks().unwrap();
    let ours = |case: &&ChunkCase| case.filters.len() == 1 && case.filters[0].id == 32008;
    let seen = chunks.iter().filter(ours).map(check).count();
    assert_eq!(seen, 15);
}

#[test]
fn every_dtype_and_edge_too() {
    let cases = ncz_test_support::edges("bitshuffle").unwrap();
    cases.iter().for_each(|case| check(&case.chunk));
    assert_eq!(cases.len(), 246);
}

#[test]
fn decoding_goes_by_the_block_that_the_stream_states() {
    let data: Vec<u8> = (0..4000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    for compressor in [LZ4, ZSTD] {
        let stream = encode(&coder(4, 64, compressor), &data);
        assert!(decode(&coder(4, 0, compressor), &stream, data.len()).as_ref() == Ok(&data));
        assert_eq!(stream[..12], [0, 0, 0, 0, 0, 0, 62, 128, 0, 0, 1, 0]);
    }
}

#[test]
fn empty_data_encode_to_nothing_or_a_header_only() {
    assert!(round_trip(&coder(4, 0, 0), &[]).is_empty());
    assert_eq!(round_trip(&coder(4, 0, LZ4), &[]), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0]);
}

#[test]
fn a_part_of_an_element_is_refused() {
    for compressor in [0, LZ4, ZSTD] {
        let bits = coder(4, 0, compressor);
        let error = bits.encode(&mut bits.scratch(), &[1; 33], &mut [0; 99]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not supported: 33 bytes are not a multiple of the element size 4, as bitshuffle requires"
        );
    }
    assert!(decode(&coder(4, 0, 0), &[0; 33], 99).is_err());
}

#[test]
fn failures_are_distinguished() {
    let data: Vec<u8> = (0..300_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    for compressor in [LZ4, ZSTD] {
        let bits = coder(4, 64, compressor);
        let stream = encode(&bits, &data);
        let kind = |bytes: &[u8], capacity| decode(&bits, bytes, capacity).unwrap_err().kind().clone();
        // The last 16 bytes are the 4 elements that fill no eight.
        for cut in (0..12).chain(stream.len() - 20..stream.len()) {
            assert_eq!(kind(&stream[..cut], 1200), ErrorKind::Truncated, "{cut} of {}", stream.len());
        }
        assert_eq!(kind(&[&stream[..], b"rest"].concat(), 1200), ErrorKind::Trailing { extra: 4 });
        assert_eq!(kind(&stream, 1199), ErrorKind::OutputFull { need: Some(1200) });
        for (at, byte) in [(11, 1), (11, 4), (7, 0xb1), (0, 1), (16, 0xff)] {
            let mut damaged = stream.clone();
            damaged[at] = byte;
            assert_eq!(kind(&damaged, 1200), ErrorKind::Corrupt, "{at}");
        }
    }
}

#[test]
fn no_stream_states_more_than_it_can_hold() {
    for compressor in [LZ4, ZSTD] {
        for length in [65_536_u64, 1 << 40, u64::MAX - 7] {
            let stream = [&length.to_be_bytes()[..], &[0, 0, 0x20, 0], &[0; 7]].concat();
            let error = coder(4, 0, compressor).decoded_len(&stream).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
        }
    }
}

proptest! {
    #[test]
    fn any_elements_round_trip(
        data in proptest::collection::vec(any::<u8>(), 0..3000),
        size in 1..20_u32,
        eights in 0..20_u32,
        compressor in prop_oneof![Just(0), Just(LZ4), Just(ZSTD)],
    ) {
        let whole = data.len() - data.len() % size as usize;
        round_trip(&coder(size, 8 * eights, compressor), &data[..whole]);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(
        data in proptest::collection::vec(0..4_u8, 0..300),
        compressor in prop_oneof![Just(LZ4), Just(ZSTD)],
    ) {
        let whole = data.len() - data.len() % 2;
        let bits = coder(2, 24, compressor);
        every_other_length_is_refused(&bits, &encode(&bits, &data[..whole]), whole);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..1000),
        compressor in prop_oneof![Just(0), Just(LZ4), Just(ZSTD)],
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let whole = data.len() - data.len() % 4;
        let bits = coder(4, 32, compressor);
        damage_is_survived(&bits, &encode(&bits, &data[..whole]), whole, &flips);
        damage_is_survived(&bits, &garbage, 1000, &[]);
        let head = [&400_u64.to_be_bytes()[..], &128_u32.to_be_bytes(), &garbage].concat();
        damage_is_survived(&bits, &head, 1000, &[]);
    }
}
