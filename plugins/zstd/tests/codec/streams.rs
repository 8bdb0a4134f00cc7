//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, Coder, ErrorKind};
use ncz_zstd::{Zstd, ZstdCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(level: i32) -> ZstdCoder {
    Zstd::coder(&[level as u32]).unwrap()
}

/// One raw block of three bytes in a frame that does not state its size (RFC 8878, section 3.1.1).
const NO_CONTENT_SIZE: &[u8] = b"\x28\xb5\x2f\xfd\x00\x58\x19\x00\x00abc";
const SKIPPABLE: &[u8] = b"\x53\x2a\x4d\x18\x02\x00\x00\x00??";

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 32015 || case.filter_mask != 0 {
            continue;
        }
        let coder = Zstd::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        let ours = round_trip(&coder, &case.raw);
        assert!(ours == case.encoded, "{}", case.name);
        every_other_length_is_refused(&coder, &case.encoded[..], case.raw.len());
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn frames_without_content_size_skippable_ones_and_several_are_read() {
    let zstd = coder(3);
    assert_eq!(decode(&zstd, NO_CONTENT_SIZE, 3).as_deref(), Ok(&b"abc"[..]));
    assert_eq!(zstd.decoded_len(NO_CONTENT_SIZE), Ok(None));
    let several = [SKIPPABLE, &encode(&zstd, b"xyz"), NO_CONTENT_SIZE, SKIPPABLE].concat();
    assert_eq!(decode(&zstd, &several, 6).as_deref(), Ok(&b"xyzabc"[..]));
    let two = [encode(&zstd, b"xyz"), encode(&zstd, b"12")].concat();
    assert_eq!(zstd.decoded_len(&two), Ok(Some(5)));
    let full = decode(&zstd, &two, 4).unwrap_err();
    assert_eq!(*full.kind(), ErrorKind::OutputFull { need: Some(5) });
}

#[test]
fn failures_are_distinguished() {
    let zstd = coder(3);
    let stream = encode(&zstd, &[7; 1000]);
    let kind = |bytes: &[u8]| decode(&zstd, bytes, 1000).unwrap_err().kind().clone();
    assert_eq!(kind(&[]), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..2]), ErrorKind::Truncated);
    assert_eq!(kind(&stream[..stream.len() - 1]), ErrorKind::Truncated);
    assert_eq!(kind(&[&stream[..], b"rest"].concat()), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(b"no frame at all"), ErrorKind::Corrupt);
    // The frame of version 0.7, which the library may be built to read.
    assert_eq!(kind(b"\x27\xb5\x2f\xfd\x00\x00\x00\x00\x00"), ErrorKind::Corrupt);
}

#[test]
fn a_checksum_is_written_when_asked_for_and_then_sees_damage() {
    let env = ncz_codec::Env {
        dtype: ncz_codec::Dtype::little(ncz_codec::Kind::UInt, 1),
        array_shape: vec![500],
        chunk_shape: vec![500],
        container: ncz_codec::Container::ZarrV3,
    };
    let coder = Zstd { level: 1, checksum: true }.bind(&env.chunk(), &env).unwrap().coder;
    let data: Vec<u8> = (0..500_u32).map(|n| (n * n % 251) as u8).collect();
    let stream = round_trip(&coder, &data);
    every_other_length_is_refused(&coder, &stream, data.len());
    let mut checksum = 0;
    for at in 5..stream.len() {
        let mut damaged = stream.clone();
        damaged[at] ^= 0x10;
        let error = decode(&coder, &damaged, data.len()).unwrap_err();
        checksum += u32::from(*error.kind() == ErrorKind::Checksum);
    }
    assert!(checksum > 100, "{checksum}");
}

#[test]
fn contexts_serve_coders_of_other_levels() {
    let data: Vec<u8> = (0..20_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    let (fast, best) = (coder(-50), coder(19));
    let mut scratch = fast.scratch();
    let mut output = vec![0; fast.max_encoded_len(data.len()).unwrap()];
    let large = fast.encode(&mut scratch, &data, &mut output).unwrap();
    let small = best.encode(&mut scratch, &data, &mut output).unwrap();
    assert_eq!(output[..small], encode(&best, &data));
    assert!(small < large);
}

proptest! {
    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..3000), level in -7..=22_i32) {
        round_trip(&coder(level), &data);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..4_u8, 0..300)) {
        let zstd = coder(3);
        every_other_length_is_refused(&zstd, &encode(&zstd, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let zstd = coder(1);
        damage_is_survived(&zstd, &encode(&zstd, &data), data.len(), &flips);
        damage_is_survived(&zstd, &garbage, 1000, &[]);
        damage_is_survived(&zstd, &[&NO_CONTENT_SIZE[..5], &garbage].concat(), 1000, &[]);
    }
}
