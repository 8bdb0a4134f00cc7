//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, CodecConfig, Coder, Dialect, ErrorKind};
use ncz_lzma::{Lzma, LzmaCoder};
use proptest::prelude::*;
use serde_json::{Value, json};

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

fn coder(config: Value) -> LzmaCoder {
    let lzma = Lzma::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new()).unwrap();
    Lzma::coder(&lzma.to_params().unwrap()).unwrap()
}

/// One coder of each form.
fn coders() -> [LzmaCoder; 5] {
    [
        json!({"preset": 0}),
        json!({"preset": 1, "check": 0}),
        json!({"format": 2, "preset": 0}),
        json!({"format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 0}]}),
        json!({"format": 3, "filters": [{"id": 0x4000_0000_0000_0001_u64, "preset": 0}]}),
    ]
    .map(coder)
}

#[test]
fn streams_of_numcodecs_decode_forever_and_encode_to_the_same_bytes() {
    let cases = stored::cases::<Lzma>("lzma");
    let (mut same, mut theirs_only) = (0, 0);
    for case in &cases {
        let coder = Lzma::coder(&case.codec.to_params().unwrap()).unwrap();
        let (raw, encoded) = (case.raw.as_ref().unwrap(), case.encoded.as_ref().unwrap());
        assert!(decode(&coder, encoded, raw.len()).as_ref() == Ok(raw), "{}, {} bytes", case.name, raw.len());
        every_other_length_is_refused(&coder, encoded, raw.len());
        if case.decoded.is_none() {
            let error = coder.encode(&mut (), raw, &mut [0; 9000]).unwrap_err();
            assert!(error.to_string().contains("numcodecs does not decode such streams"), "{error}");
            theirs_only += 1;
            continue;
        }
        let ours = encode(&coder, raw);
        assert!(ours == *encoded, "{}, {} bytes: {} of {}", case.name, raw.len(), ours.len(), encoded.len());
        same += 1;
    }
    assert_eq!((cases.len(), same, theirs_only), (270, 258, 12));
}

#[test]
fn streams_that_follow_each_other_are_one_if_they_are_xz() {
    let [xz, _, alone, ..] = coders();
    let two = |coder: &LzmaCoder| [encode(coder, b"abc"), encode(coder, b""), encode(coder, b"de")].concat();
    assert_eq!(decode(&xz, &two(&xz), 5).as_deref(), Ok(&b"abcde"[..]));
    assert_eq!(*decode(&xz, &two(&xz), 4).unwrap_err().kind(), ErrorKind::OutputFull { need: None });
    assert!(matches!(decode(&alone, &two(&alone), 5).unwrap_err().kind(), ErrorKind::Trailing { .. }));
}

#[test]
fn failures_are_distinguished() {
    let xz = coder(json!({"preset": 6}));
    let data = b"a b c a b c a b d".repeat(20);
    let stream = encode(&xz, &data);
    let kind = |bytes: &[u8]| decode(&xz, bytes, data.len()).unwrap_err().kind().clone();
    for cut in 0..stream.len() {
        assert_eq!(kind(&stream[..cut]), ErrorKind::Truncated, "{cut} of {} bytes", stream.len());
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat()), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(b"this is not a stream of xz at all"), ErrorKind::Corrupt);
    for at in 0..stream.len() {
        let mut damaged = stream.clone();
        damaged[at] ^= 0x10;
        assert!(decode(&xz, &damaged, data.len()).is_err(), "byte {at}");
    }
    assert_eq!(
        *decode(&xz, &stream, data.len() - 1).unwrap_err().kind(),
        ErrorKind::OutputFull { need: None }
    );
    // A checksum of a reserved kind (xz file format, section 2.1.1.2).
    let mut unknown = stream.clone();
    unknown[7] = 2;
    unknown.splice(8..12, crc32(&[0, 2]));
    assert_eq!(kind(&unknown), ErrorKind::Unsupported);
}

/// Four bytes of CRC-32, bit by bit (xz file format, section 6).
fn crc32(data: &[u8]) -> [u8; 4] {
    let sum = data.iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    });
    (!sum).to_le_bytes()
}

#[test]
fn a_dictionary_that_the_chunk_does_not_deserve_is_refused() {
    // lzma: the size of the dictionary in bytes 1 to 4. The largest preset has 64 MiB.
    let alone = coder(json!({"format": 2}));
    let mut stream = encode(&alone, b"abc");
    stream[1..5].copy_from_slice(&(64_u32 << 20).to_le_bytes());
    assert_eq!(decode(&alone, &stream, 3).as_deref(), Ok(&b"abc"[..]));
    stream[1..5].copy_from_slice(&(128_u32 << 20).to_le_bytes());
    let error = decode(&alone, &stream, 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not supported: the lzma stream requires a dictionary of more than 64 MiB and of more than four times the chunk"
    );
    assert_eq!(decode(&alone, &stream, 32 << 20).as_deref(), Ok(&b"abc"[..]));
    // xz: one byte in the header of the block, which has a CRC-32 over it.
    let xz = coder(json!({}));
    let mut stream = encode(&xz, b"abc");
    assert_eq!(stream[12..18], [2, 0, 33, 1, 22, 0], "the header of the block");
    stream[16] = 40;
    let sum = crc32(&stream[12..20]);
    stream[20..24].copy_from_slice(&sum);
    assert_eq!(*decode(&xz, &stream, 3).unwrap_err().kind(), ErrorKind::Unsupported);
    // raw: the configuration can have any value.
    let raw = coder(json!({"format": 3, "filters": [{"id": 33}]}));
    let absurd = coder(json!({"format": 3, "filters": [{"id": 33, "dict_size": u32::MAX}]}));
    assert_eq!(decode(&absurd, &encode(&raw, b"abcabcabc"), 9).as_deref(), Ok(&b"abcabcabc"[..]));
}

#[test]
fn noise_keeps_within_the_promised_length() {
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    for coder in coders() {
        let length = round_trip(&coder, &noise).len();
        assert!((noise.len()..noise.len() * 21 / 20).contains(&length), "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_bytes_round_trip(data in proptest::collection::vec(any::<u8>(), 0..3000), few in proptest::collection::vec(0..3_u8, 0..3000)) {
        for coder in coders() {
            round_trip(&coder, &data);
            round_trip(&coder, &few);
        }
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(0..4_u8, 0..100)) {
        for coder in coders() {
            every_other_length_is_refused(&coder, &encode(&coder, &data), data.len());
        }
        // Without decoding, too.
        let xz = coder(json!({"preset": 0}));
        let stream = encode(&xz, &data);
        let found = |cut: &usize| xz.check(&stream[..*cut], None).is_err();
        prop_assert!((0..stream.len()).filter(found).count() * 100 >= stream.len() * 95);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(0..9_u8, 0..2000),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        for coder in coders() {
            let stream = encode(&coder, &data);
            damage_is_survived(&coder, &stream, data.len(), &flips);
            damage_is_survived(&coder, &garbage, 1000, &[]);
            damage_is_survived(&coder, &[&stream[..stream.len().min(24)], &garbage].concat(), 1000, &[]);
        }
    }
}
