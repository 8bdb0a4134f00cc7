//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_hdf5_lz4::{Lz4H5, Lz4H5Coder};
use ncz_test_support::ChunkCase;
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(block: u32) -> Lz4H5Coder {
    Lz4H5::coder(&[block]).unwrap()
}

/// The chunk decodes to the byte and our own bytes are those of the filter.
fn check(case: &ChunkCase) {
    let coder = Lz4H5::coder(&case.filters[0].params).unwrap();
    assert_eq!(case.filter_mask, 0);
    assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
    assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
    if case.encoded.len() < 500 {
        every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
    }
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let chunks = ncz_test_support::chunks().unwrap();
    let ours = |case: &&ChunkCase| case.filters.len() == 1 && case.filters[0].id == 32004;
    let seen = chunks.iter().filter(ours).map(check).count();
    assert_eq!(seen, 10);
}

#[test]
fn every_dtype_and_edge_too() {
    let cases = ncz_test_support::edges("lz4").unwrap();
    cases.iter().for_each(|case| check(&case.chunk));
    assert_eq!(cases.len(), 146);
}

#[test]
fn empty_data_are_a_header_only() {
    for block in [0, 1, 1000] {
        assert_eq!(round_trip(&coder(block), &[]), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
    // Others may write any length of a block.
    assert_eq!(decode(&coder(0), &[0; 12], 9), Ok(vec![]));
}

#[test]
fn a_block_that_grew_is_read_although_no_filter_writes_it() {
    // One literal run of 3 bytes.
    let stream = b"\0\0\0\0\0\0\0\x03\0\0\0\x03\0\0\0\x04\x30abc";
    assert_eq!(decode(&coder(0), stream, 3).as_deref(), Ok(&b"abc"[..]));
}

#[test]
fn words_that_the_filter_would_refuse_do_not_hinder_decoding() {
    let stream = encode(&coder(7), b"to be or not to be");
    for words in [&[u32::MAX][..], &[], &[1, 2, 3]] {
        let coder = Lz4H5::coder(words).unwrap();
        assert_eq!(decode(&coder, &stream, 18).as_deref(), Ok(&b"to be or not to be"[..]));
    }
}

#[test]
fn failures_are_distinguished() {
    let lz4 = coder(100);
    let data: Vec<u8> = (0..250_u8).map(|n| n / 8).collect();
    let stream = encode(&lz4, &data);
    let kind = |bytes: &[u8], capacity| decode(&lz4, bytes, capacity).unwrap_err().kind().clone();
    for cut in (0..12).chain(stream.len() - 5..stream.len()) {
        assert_eq!(kind(&stream[..cut], 250), ErrorKind::Truncated, "{cut}");
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat(), 250), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&stream, 249), ErrorKind::OutputFull { need: Some(250) });
    let mut no_block = stream.clone();
    no_block[11] = 0;
    assert_eq!(kind(&no_block, 250), ErrorKind::Corrupt);
    let mut damaged = stream;
    damaged[16] = 0xff;
    assert_eq!(kind(&damaged, 250), ErrorKind::Corrupt);
}

#[test]
fn no_stream_states_more_than_it_can_hold() {
    for length in [256_u64, 1 << 40, u64::MAX] {
        let stream = [&length.to_be_bytes()[..], &[0, 0, 1, 0, 0]].concat();
        let error = coder(0).decoded_len(&stream).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..3000), block in 0..400_u32) {
        round_trip(&coder(block), &data);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(
        data in proptest::collection::vec(0..4_u8, 0..300),
        block in 1..400_u32,
    ) {
        let lz4 = coder(block);
        every_other_length_is_refused(&lz4, &encode(&lz4, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        block in 1..2000_u32,
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let lz4 = coder(block);
        damage_is_survived(&lz4, &encode(&lz4, &data), data.len(), &flips);
        damage_is_survived(&lz4, &garbage, 1000, &[]);
        let head = [&500_u64.to_be_bytes()[..], &block.to_be_bytes(), &garbage].concat();
        damage_is_survived(&lz4, &head, 1000, &[]);
    }
}
