//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_bzip2::{Bzip2, Bzip2Coder};
use ncz_codec::{Codec, Coder, ErrorKind};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(level: u32) -> Bzip2Coder {
    Bzip2::coder(&[level]).unwrap()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 307 || case.filter_mask != 0 {
            continue;
        }
        let coder = Bzip2::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn streams_that_follow_each_other_are_one() {
    let bzip2 = coder(1);
    let two = [encode(&bzip2, b"abc"), encode(&bzip2, b""), encode(&bzip2, b"de")].concat();
    assert_eq!(decode(&bzip2, &two, 5).as_deref(), Ok(&b"abcde"[..]));
    assert_eq!(*decode(&bzip2, &two, 4).unwrap_err().kind(), ErrorKind::OutputFull { need: None });
}

#[test]
fn failures_are_distinguished() {
    let bzip2 = coder(9);
    let data = b"a b c a b c a b d".repeat(20);
    let stream = encode(&bzip2, &data);
    let kind = |bytes: &[u8]| decode(&bzip2, bytes, data.len()).unwrap_err().kind().clone();
    for cut in 0..stream.len() {
        assert_eq!(kind(&stream[..cut]), ErrorKind::Truncated, "{cut} of {} bytes", stream.len());
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat()), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(b"no bzip2 stream"), ErrorKind::Corrupt);
    for bit in 0..stream.len() * 8 {
        let mut damaged = stream.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        // A larger or smaller block size in the header is harmless, and so are the padding bits of the last byte.
        if let Ok(same) = decode(&bzip2, &damaged, data.len()) {
            assert_eq!(same, data, "bit {bit}");
        }
    }
}

#[test]
fn data_of_several_blocks_and_long_runs_round_trip() {
    let bzip2 = coder(1);
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(350_000)
    .collect();
    let data = [&noise[..], &[0; 300_000]].concat();
    let stream = round_trip(&bzip2, &data);
    assert!((stream.len() as f64) > 350_000.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..3000), level in 1..=9_u32) {
        round_trip(&coder(level), &data);
    }

    #[test]
    fn runs_round_trip(data in proptest::collection::vec((any::<u8>(), 1..600_usize), 0..8)) {
        let data: Vec<u8> = data.into_iter().flat_map(|(byte, count)| vec![byte; count]).collect();
        round_trip(&coder(1), &data);
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..4_u8, 0..200)) {
        let bzip2 = coder(1);
        let stream = encode(&bzip2, &data);
        every_other_length_is_refused(&bzip2, &stream, data.len());
        // Without decoding, too.
        for cut in 0..stream.len() {
            prop_assert!(bzip2.check(&stream[..cut], None).is_err(), "{} of {} bytes", cut, stream.len());
        }
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let bzip2 = coder(1);
        let stream = encode(&bzip2, &data);
        damage_is_survived(&bzip2, &stream, data.len(), &flips);
        damage_is_survived(&bzip2, &garbage, 1000, &[]);
        damage_is_survived(&bzip2, &[&stream[..10], &garbage].concat(), 1000, &[]);
    }
}
