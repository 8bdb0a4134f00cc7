//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use std::io::{Read, Write};

use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_deflate::{Deflate, DeflateCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(level: u32) -> DeflateCoder {
    Deflate::coder(&[level]).unwrap()
}

/// Decodes with another implementation.
fn inflate(stream: &[u8]) -> Vec<u8> {
    let mut decoder = flate2::read::ZlibDecoder::new(stream);
    let mut data = Vec::new();
    decoder.read_to_end(&mut data).unwrap();
    assert_eq!(decoder.total_in(), stream.len() as u64);
    data
}

/// Encodes with another implementation.
fn zlib(data: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_ours_are_hardly_larger() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 1 || case.filter_mask != 0 {
            continue;
        }
        let coder = Deflate::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        let ours = round_trip(&coder, &case.raw);
        assert!(inflate(&ours) == case.raw);
        assert!(ours.len() <= case.encoded.len() + case.encoded.len() / 50, "{}", case.name);
        every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_stream_that_is_too_short_for_its_data_is_refused_without_decoding_it() {
    let deflate = coder(9);
    for length in [0, 1 << 20] {
        let stream = zlib(&vec![0; length], 9);
        assert_eq!(deflate.check(&stream, Some(length)), Ok(None));
        assert!(deflate.check(&stream[..stream.len() * 9 / 10], Some(length)).is_err(), "{length}");
    }
}

#[test]
fn failures_are_distinguished() {
    let deflate = coder(6);
    let data = b"a b c a b c a b d".repeat(20);
    let stream = encode(&deflate, &data);
    let kind = |bytes: &[u8]| decode(&deflate, bytes, data.len()).unwrap_err().kind().clone();
    assert_eq!(kind(&[]), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..1]), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..stream.len() - 1]), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..stream.len() / 2]), ErrorKind::Corrupt);
    assert_eq!(
        kind(&[&stream[..], &stream[..]].concat()),
        ErrorKind::Trailing { extra: stream.len() as u64 }
    );
    // The last bytes are the right checksum, but not at the end of the stream.
    let doubled = [&stream[..], &stream[stream.len() - 4..]].concat();
    assert_eq!(kind(&doubled), ErrorKind::Trailing { extra: 4 });
    let mut damaged = stream.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(kind(&damaged), ErrorKind::Checksum);
    assert_eq!(kind(b"no zlib stream"), ErrorKind::Corrupt);
    assert_eq!(kind(&[0x78, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0]), ErrorKind::Unsupported);
}

#[test]
fn tables_serve_coders_of_other_levels() {
    let data: Vec<u8> = (0..20_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    let (stored, best) = (coder(0), coder(9));
    let mut scratch = stored.scratch();
    let mut output = vec![0; stored.max_encoded_len(data.len()).unwrap()];
    assert!(stored.encode(&mut scratch, &data, &mut output).unwrap() > data.len());
    let small = best.encode(&mut scratch, &data, &mut output).unwrap();
    assert_eq!(output[..small], encode(&best, &data));
}

#[test]
fn no_single_flipped_bit_gives_other_data() {
    let deflate = coder(4);
    let data: Vec<u8> = (0..300_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let stream = encode(&deflate, &data);
    for at in 0..stream.len() * 8 {
        let mut damaged = stream.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        // The bits between the last block and the checksum mean nothing.
        if let Ok(same) = decode(&deflate, &damaged, data.len()) {
            assert_eq!(same, data, "bit {at}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip_with_us_and_with_zlib(
        data in proptest::collection::vec(any::<u8>(), 0..20_000),
        level in 0..=9_u32,
    ) {
        let stream = round_trip(&coder(level), &data);
        prop_assert_eq!(&inflate(&stream), &data);
        prop_assert_eq!(decode(&coder(1), &zlib(&data, level), data.len()), Ok(data));
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(
        data in proptest::collection::vec(0..4_u8, 0..300),
        level in 0..=9_u32,
    ) {
        every_other_length_is_refused(&coder(1), &encode(&coder(level), &data), data.len());
        every_other_length_is_refused(&coder(1), &zlib(&data, level), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let deflate = coder(6);
        damage_is_survived(&deflate, &encode(&deflate, &data), data.len(), &flips);
        damage_is_survived(&deflate, &garbage, 1000, &[]);
        damage_is_survived(&deflate, &[&[0x78, 0x9c], &garbage[..]].concat(), 1000, &[]);
    }
}
