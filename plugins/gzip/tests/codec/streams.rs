//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use std::io::{Read, Write};

use flate2::{Compression, GzBuilder};
use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_gzip::{Gzip, GzipCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(level: u32) -> GzipCoder {
    Gzip::coder(&[level]).unwrap()
}

/// Decodes with another implementation.
fn gunzip(stream: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    flate2::read::MultiGzDecoder::new(stream).read_to_end(&mut data).unwrap();
    data
}

/// Encodes with another implementation.
fn gzip(data: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A member whose header has every field; with a checksum of the header if requested.
fn full_header(data: &[u8], checksum: bool) -> Vec<u8> {
    let builder = GzBuilder::new().filename("a name").comment("a comment").extra(&b"ab\x02\0cd"[..]).mtime(7);
    let mut encoder = builder.write(Vec::new(), Compression::new(6));
    encoder.write_all(data).unwrap();
    let mut stream = encoder.finish().unwrap();
    if checksum {
        stream[3] |= 2;
        let header = 10 + 2 + 6 + b"a name\0a comment\0".len();
        let mut crc = flate2::Crc::new();
        crc.update(&stream[..header]);
        stream.splice(header..header, (crc.sum() as u16).to_le_bytes());
    }
    stream
}

#[test]
fn chunks_of_zarr_python_decode_to_the_values_that_were_written() {
    let mut seen = 0;
    for (dataset, chunk) in
        [("v2-gzip", "v/1.0"), ("v2-gzip", "v/2.2"), ("v3-gzip", "v/c/1/0"), ("v3-gzip", "v/c/2/2")]
    {
        let path = ncz_test_support::fixtures().join("zarr-python").join(dataset).with_extension("zip");
        let folder = ncz_test_support::unpack(&path).unwrap();
        let stream = std::fs::read(folder.path().join(chunk)).unwrap();
        let values = ncz_test_support::arrays(path.with_extension("npz")).unwrap();
        let values = &values.iter().find(|array| array.name == "v").unwrap().bytes;
        let coder = coder(5);
        // 50 x 37 numbers of 4 bytes in chunks of 20 x 15.
        let content = decode(&coder, &stream, 20 * 15 * 4).unwrap();
        let digits: Vec<usize> =
            chunk.bytes().filter(u8::is_ascii_digit).map(|b| usize::from(b - b'0')).collect();
        let (top, left) = (digits[0] * 20, digits[1] * 15);
        let wide = 15.min(37 - left) * 4;
        for row in 0..20.min(50 - top) {
            let at = ((top + row) * 37 + left) * 4;
            assert_eq!(content[row * 60..row * 60 + wide], values[at..at + wide], "{dataset} {chunk}");
            seen += 1;
        }
        let ours = round_trip(&coder, &content);
        assert!(gunzip(&ours) == content && ours.len() <= stream.len() + stream.len() / 50);
        every_other_length_is_refused(&coder, &stream, content.len());
    }
    assert_eq!(seen, 60);
}

#[test]
fn failures_are_distinguished() {
    let gzip = coder(6);
    let data = b"a b c a b c a b d".repeat(20);
    let stream = encode(&gzip, &data);
    let kind = |bytes: &[u8]| decode(&gzip, bytes, data.len()).unwrap_err().kind().clone();
    for cut in (0..10).chain(stream.len() - 8..stream.len()) {
        assert_eq!(kind(&stream[..cut]), ErrorKind::Truncated, "{cut} bytes");
    }
    assert_eq!(kind(&stream[..stream.len() / 2]), ErrorKind::Corrupt);
    assert_eq!(kind(&[&stream[..], &[0; 5]].concat()), ErrorKind::Trailing { extra: 5 });
    assert_eq!(kind(&[&stream[..], b"x"].concat()), ErrorKind::Trailing { extra: 1 });
    assert_eq!(kind(&[&stream[..], &[0x1f]].concat()), ErrorKind::Truncated);
    assert_eq!(kind(&[&stream[..], &stream[..]].concat()), ErrorKind::OutputFull { need: None });
    let flipped = |at: usize| {
        let mut damaged = stream.clone();
        damaged[at] ^= 1;
        kind(&damaged)
    };
    assert_eq!(flipped(stream.len() - 8), ErrorKind::Checksum);
    assert_eq!(flipped(stream.len() - 4), ErrorKind::Corrupt);
    assert_eq!(flipped(0), ErrorKind::Corrupt);
    assert_eq!(flipped(2), ErrorKind::Unsupported);
    let mut reserved = stream.clone();
    reserved[3] = 0x20;
    assert_eq!(kind(&reserved), ErrorKind::Unsupported);
}

#[test]
fn every_field_of_a_header_is_understood() {
    let data = b"some content";
    for checksum in [false, true] {
        let stream = full_header(data, checksum);
        assert_eq!(decode(&coder(1), &stream, data.len()).as_deref(), Ok(&data[..]));
        every_other_length_is_refused(&coder(1), &stream, data.len());
    }
    let mut damaged = full_header(data, true);
    damaged[4] ^= 1; // the time
    assert_eq!(*decode(&coder(1), &damaged, data.len()).unwrap_err().kind(), ErrorKind::Checksum);
    // A field whose stated length is longer than the stream.
    let mut longer = full_header(data, false);
    longer[10..12].fill(0xff);
    assert_eq!(*decode(&coder(1), &longer, data.len()).unwrap_err().kind(), ErrorKind::Truncated);
}

#[test]
fn the_same_data_give_the_same_bytes_without_a_time_or_a_name() {
    let stream = encode(&coder(5), b"abc");
    assert_eq!(stream[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
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
    let gzip = coder(4);
    let data: Vec<u8> = (0..300_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let stream = encode(&gzip, &data);
    for at in 0..stream.len() * 8 {
        let mut damaged = stream.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        // The time and the system in the header, and the bits after the last block, mean nothing.
        if let Ok(same) = decode(&gzip, &damaged, data.len()) {
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
        prop_assert_eq!(&gunzip(&stream), &data);
        prop_assert_eq!(decode(&coder(1), &gzip(&data, level), data.len()), Ok(data));
    }

    #[test]
    fn members_that_follow_each_other_are_one_stream(
        parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 1..5),
    ) {
        let stream: Vec<u8> = parts.iter().flat_map(|part| encode(&coder(3), part)).collect();
        prop_assert_eq!(decode(&coder(1), &stream, parts.concat().len()), Ok(parts.concat()));
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(
        data in proptest::collection::vec(0..4_u8, 0..300),
        level in 0..=9_u32,
    ) {
        every_other_length_is_refused(&coder(1), &encode(&coder(level), &data), data.len());
        every_other_length_is_refused(&coder(1), &gzip(&data, level), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        flags in 0..0x20_u8,
    ) {
        let gzip = coder(6);
        damage_is_survived(&gzip, &encode(&gzip, &data), data.len(), &flips);
        damage_is_survived(&gzip, &full_header(&data, true), data.len(), &flips);
        damage_is_survived(&gzip, &garbage, 1000, &[]);
        damage_is_survived(&gzip, &[&[0x1f, 0x8b, 8, flags], &garbage[..]].concat(), 1000, &[]);
    }
}
