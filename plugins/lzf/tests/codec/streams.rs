//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, Coder, Container, Dtype, Env, ErrorKind, Kind, Repr, Size};
use ncz_lzf::{Lzf, LzfCoder};
use ncz_test_support::ChunkCase;
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// A coder without information about the chunk.
fn free() -> LzfCoder {
    Lzf::coder(&[]).unwrap()
}

/// A coder for chunks of `len` bytes.
fn bound(len: usize) -> LzfCoder {
    let env = Env {
        dtype: Dtype::little(Kind::UInt, 1),
        array_shape: vec![len as u64],
        chunk_shape: vec![len as u64],
        container: Container::ZarrV2,
    };
    Lzf.bind(&Repr::Bytes { size: Size::Exact(len) }, &env).unwrap().coder
}

/// Checks that the chunk decodes exactly and that our bytes are those of the filter; returns whether HDF5 skipped it.
fn check(case: &ChunkCase) -> bool {
    let coder = Lzf::coder(&case.filters[0].params).unwrap();
    assert_eq!(case.filters[0].params, [4, 261, case.raw.len() as u32]);
    let ours = round_trip(&coder, &case.raw);
    if case.filter_mask != 0 {
        // h5py gave up because the data do not shrink, at most 3 bytes early; ours is a valid stream all the same.
        assert!(case.encoded == case.raw && ours.len() + 3 > case.raw.len(), "{}", case.name);
        return true;
    }
    assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
    assert!(ours == case.encoded, "{}", case.name);
    let bound = bound(case.raw.len());
    if case.encoded.len() < 300 {
        every_other_length_is_refused(&bound, &case.encoded, case.raw.len());
    }
    false
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let chunks = ncz_test_support::chunks().unwrap();
    let ours = |case: &&ChunkCase| case.filters.len() == 1 && case.filters[0].id == 32000;
    let masked: Vec<_> = chunks.iter().filter(ours).map(check).collect();
    assert_eq!((masked.len(), masked.iter().filter(|&&masked| masked).count()), (5, 2));
}

#[test]
fn every_dtype_and_edge_too() {
    let cases = ncz_test_support::edges("lzf").unwrap();
    let masked = cases.iter().filter(|case| check(&case.chunk)).count();
    assert_eq!((cases.len(), masked), (121, 50));
}

#[test]
fn data_that_do_not_shrink_become_a_valid_stream_that_is_a_little_longer() {
    let data: Vec<u8> =
        (0..1000_u32).map(|n| (n.wrapping_mul(n).wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    let stream = round_trip(&free(), &data);
    assert!((1000..=1032).contains(&stream.len()), "{}", stream.len());
}

#[test]
fn failures_are_distinguished() {
    let data = b"to be, or not to be, that is the question, or to be".repeat(20);
    let lzf = bound(data.len());
    let stream = encode(&lzf, &data);
    let kind = |bytes: &[u8], capacity| decode(&lzf, bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..stream.len() {
        assert_eq!(kind(&stream[..cut], data.len()), ErrorKind::Truncated);
    }
    let got = data.len() as u64 + 1;
    assert_eq!(kind(&[&stream[..], b"\0x"].concat(), 2000), ErrorKind::Size { want: data.len() as u64, got });
    assert_eq!(kind(&[&stream[..], b"\0x"].concat(), data.len()), ErrorKind::OutputFull { need: Some(got) });
    assert_eq!(kind(&stream, 10), ErrorKind::OutputFull { need: Some(data.len() as u64) });
    assert_eq!(kind(b"\0a\x20\x05", 2000), ErrorKind::Corrupt);
}

#[test]
fn within_hdf5_a_chunk_may_be_longer_and_not_shorter() {
    // The word states 100 bytes; fletcher32 before it adds some.
    let lzf = Lzf::coder(&[4, 261, 100]).unwrap();
    for length in [100, 104, 1000] {
        round_trip(&lzf, &vec![9; length]);
    }
    for length in [0, 1, 99] {
        let error = lzf.encode(&mut lzf.scratch(), &vec![9; length], &mut [0; 200]).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Size { want: 100, got: length as u64 });
        let stream = encode(&free(), &vec![9; length]);
        assert_eq!(*decode(&lzf, &stream, 200).unwrap_err().kind(), ErrorKind::Truncated);
    }
}

#[test]
fn a_chunk_of_another_length_than_the_bound_one_is_not_encoded() {
    let lzf = bound(100);
    for length in [0, 99, 101] {
        let error = lzf.encode(&mut lzf.scratch(), &vec![9; length], &mut [0; 200]).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Size { want: 100, got: length as u64 });
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip(
        data in proptest::collection::vec(any::<u8>(), 0..3000),
        few in proptest::collection::vec(0..3_u8, 0..3000),
    ) {
        round_trip(&free(), &data);
        round_trip(&bound(few.len()), &few);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..4_u8, 1..300)) {
        let lzf = bound(data.len());
        every_other_length_is_refused(&lzf, &encode(&lzf, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        damage_is_survived(&free(), &encode(&free(), &data), data.len(), &flips);
        damage_is_survived(&free(), &garbage, 1000, &[]);
        // The stated length is the decoded length.
        if let Ok(Some(length)) = free().decoded_len(&garbage) {
            prop_assert!(length <= 100 * garbage.len());
            prop_assert!(decode(&free(), &garbage, length).is_ok_and(|data| data.len() == length)
                || decode(&free(), &garbage, length).unwrap_err().kind() == &ErrorKind::Corrupt);
        }
    }
}
