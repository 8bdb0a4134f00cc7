//! Stored frames of hdf5plugin, and what holds for every frame.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_blosc2::{Blosc2, Blosc2Coder};
use ncz_codec::{Codec, CodecConfig, Coder, Container, Dtype, Env, ErrorKind, Kind};
use ncz_test_support::ChunkCase;
use proptest::prelude::*;
use serde_json::Value;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// A chunk of elements of `size` bytes, as HDF5 has it.
fn coder(size: usize, shape: &[u64], words: &[u32]) -> Blosc2Coder {
    let dtype = Dtype::little(Kind::Opaque, size);
    let env =
        Env { dtype, array_shape: shape.to_vec(), chunk_shape: shape.to_vec(), container: Container::Hdf5 };
    let working = Blosc2::from_params(words).unwrap().bind(&env.chunk(), &env).unwrap().working;
    Blosc2::coder(&working).unwrap()
}

fn sample(count: usize) -> Vec<u8> {
    (0..count as u64).flat_map(|n| u32::try_from(((n * n) >> 6) % 5003).unwrap().to_le_bytes()).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// One chunk of `codecs/blosc2.json`.
struct Case {
    name: String,
    shape: Vec<u64>,
    given: Vec<u32>,
    stored: Vec<u32>,
    raw: Vec<u8>,
    encoded: Vec<u8>,
    /// Whether hdf5plugin reads it.
    is_read: bool,
}

fn stored() -> Value {
    let path = ncz_test_support::fixtures().join("codecs/blosc2.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    let all = stored();
    let case = |case: &Value| {
        let numbers = |key: &str| -> Vec<u64> {
            case[key].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
        };
        let words = |key| numbers(key).into_iter().map(|word| word as u32).collect();
        let raw = case["raw"].as_str().unwrap();
        Case {
            name: format!("{raw} {} {}", case["shape"], case["given"]),
            shape: numbers("shape"),
            given: words("given"),
            stored: words("stored"),
            raw: unhex(all["raws"][raw].as_str().unwrap()),
            encoded: unhex(case["encoded"].as_str().unwrap()),
            is_read: case["read"].as_bool().unwrap(),
        }
    };
    all["cases"].as_array().unwrap().iter().map(case).collect()
}

#[test]
fn frames_of_hdf5plugin_decode_to_the_byte_and_ours_round_trip() {
    let cases = cases();
    assert_eq!(cases.len(), 533);
    for case in cases {
        let reader = Blosc2::coder(&case.stored).unwrap();
        let decoded = decode(&reader, &case.encoded, case.raw.len());
        assert!(decoded.as_ref() == Ok(&case.raw), "{}: {decoded:?}", case.name);
        assert_eq!(reader.decoded_len(&case.encoded), Ok(Some(case.raw.len())), "{}", case.name);
        let size = case.raw.len() / case.shape.iter().product::<u64>() as usize;
        let ours = coder(size, &case.shape, &case.given);
        round_trip(&ours, &case.raw);
        if case.given.len() != 6 {
            let dtype = Dtype::little(Kind::Opaque, size);
            let (array_shape, chunk_shape) = (case.shape.clone(), case.shape.clone());
            let env = Env { dtype, array_shape, chunk_shape, container: Container::Hdf5 };
            let bound = Blosc2::from_params(&case.given).unwrap().bind(&env.chunk(), &env).unwrap();
            assert_eq!(bound.working, case.stored, "{}", case.name);
        }
    }
}

/// Only the compressors' output differs, so all other bytes must be equal: this shows that frames, chunks and the order
/// of blocks are those of C-Blosc2.
#[test]
fn frames_without_compression_are_those_of_hdf5plugin_to_the_byte() {
    let mut equal = 0;
    for case in cases().into_iter().filter(|case| case.is_read) {
        let size = case.raw.len() / case.shape.iter().product::<u64>() as usize;
        let ours = encode(&coder(size, &case.shape, &case.given), &case.raw);
        let plain = case.given.get(4) == Some(&0) || case.raw.len() < 32 || case.name.contains("zero");
        assert!(!plain || ours == case.encoded, "{}", case.name);
        equal += usize::from(ours == case.encoded);
    }
    println!("{equal} frames are those of hdf5plugin to the byte");
    assert!(equal > 250, "{equal}");
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte() {
    let chunks = ncz_test_support::chunks().unwrap();
    let ours = |case: &&ChunkCase| case.filters.len() == 1 && case.filters[0].id == 32026;
    let mut seen = 0;
    for case in chunks.iter().filter(ours) {
        let coder = Blosc2::coder(&case.filters[0].params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        round_trip(&coder, &case.raw);
        seen += 1;
    }
    assert_eq!(seen, 15);
}

#[test]
fn every_other_length_of_a_stored_frame_is_refused() {
    for case in cases().into_iter().step_by(7).filter(|case| case.encoded.len() < 900) {
        every_other_length_is_refused(&Blosc2::coder(&case.stored).unwrap(), &case.encoded, case.raw.len());
    }
}

#[test]
fn damage_of_every_byte_of_stored_frames_is_survived() {
    for case in cases().into_iter().step_by(5) {
        let coder = Blosc2::coder(&case.stored).unwrap();
        for at in 0..case.encoded.len() {
            for bits in [1, 0x10, 0x80, 0xff] {
                damage_is_survived(&coder, &case.encoded, case.raw.len(), &[(at, bits)]);
            }
        }
    }
}

/// Frames that were changed by hand: filters with undefined numbers, other versions of the header, chunks of one
/// value.
#[test]
fn changed_frames_decode_as_hdf5plugin_does_and_are_refused_as_it_does() {
    let all = stored();
    let others = all["others"].as_array().unwrap();
    assert_eq!(others.len(), 53);
    let mut differ = Vec::new();
    for other in others {
        let words: Vec<u32> =
            other["stored"].as_array().unwrap().iter().map(|word| word.as_u64().unwrap() as u32).collect();
        let (frame, len) = (unhex(other["encoded"].as_str().unwrap()), other["len"].as_u64().unwrap());
        let ours = decode(&Blosc2::coder(&words).unwrap(), &frame, len as usize);
        if ours.as_ref().ok() != other["raw"].as_str().map(unhex).as_ref() {
            differ.push(format!("{}: {}", other["name"], ours.map_or_else(|e| e.to_string(), |_| "".into())));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}

/// A frame of an array of zeros: bytes of these lengths, in one chunk after the other that are not stored.
fn array_of_zeros(shape: &[u64], chunk: u32, block: u32) -> Vec<u8> {
    let rank = shape.len();
    let frame = encode(&coder(1, &vec![2; rank], &[]), &vec![0; 1 << rank]);
    let mut header = frame[..u32::from_be_bytes(frame[11..15].try_into().unwrap()) as usize].to_vec();
    let mut at = 97 + 15 + 4;
    for &len in shape {
        header[at + 1..at + 9].copy_from_slice(&len.to_be_bytes());
        at += 9;
    }
    for len in [chunk, block] {
        at += 1;
        for _ in 0..rank {
            header[at + 1..at + 5].copy_from_slice(&len.to_be_bytes());
            at += 5;
        }
    }
    let chunk_len = chunk.next_multiple_of(block).pow(rank as u32);
    let chunks: u64 = shape.iter().map(|len| len.div_ceil(chunk.into())).product();
    frame_of(&header, chunks * u64::from(chunk_len), chunk_len, &[], &vec![0x81 << 56; chunks as usize])
}

#[test]
fn arrays_that_are_mostly_filling_are_refused_before_any_work() {
    let reader = Blosc2::coder(&[]).unwrap();
    let refusal = |rank: usize| {
        let frame = array_of_zeros(&vec![4; rank], 3, 2);
        let error = decode(&reader, &frame, 1 << (2 * rank)).err().unwrap();
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        assert_eq!(reader.decoded_len(&frame).as_ref(), Err(&error));
        error.to_string()
    };
    let text = |array: u64, filled: u64| {
        format!(
            "not supported: a blosc2 array of {array} bytes whose chunks and blocks are filled up to {filled}; take lengths that divide those of the array"
        )
    };
    // A frame of some hundred bytes would take minutes.
    assert_eq!(refusal(13), text(1 << 26, 1 << 39));
    assert_eq!(refusal(10), text(1 << 20, 1 << 30));
    for rank in [2, 4, 7] {
        let len = 1 << (2 * rank);
        assert_eq!(decode(&reader, &array_of_zeros(&vec![4; rank], 3, 2), len), Ok(vec![0; len]));
    }
    // The padding of C-Blosc2 for chunks of many dimensions, and for small arrays.
    let len = 3_usize.pow(12);
    assert!(decode(&reader, &array_of_zeros(&[3; 12], 3, 2), len) == Ok(vec![0; len]));
}

#[test]
fn flags_of_other_machines_and_undefined_flags_are_refused() {
    let lz4 = coder(4, &[600], &[0, 0, 0, 0, 5, 1, 1]);
    let frame = encode(&lz4, &sample(600));
    let refusal = |at: usize, byte: u8| {
        let mut other = frame.clone();
        other[CHUNK + at] = byte;
        decode(&lz4, &other, 2400).unwrap_err().to_string()
    };
    assert_eq!(refusal(31, 2), "not supported: a blosc2 chunk that a big-endian machine compressed");
    assert_eq!(refusal(31, 4), "not supported: a blosc2 chunk with the unknown flags 0x04");
    assert_eq!(refusal(30, 1), "not supported: a blosc2 chunk with the unknown flags 0x01");
    assert_eq!(refusal(30, 0x80), "not supported: a blosc2 chunk with the unknown flags 0x80");
    for flag in [8, 0x80] {
        let text =
            format!("not supported: a blosc2 chunk with the flags {flag:#04x}, which has no data of its own");
        assert_eq!(refusal(31, flag), text);
    }
    let stored = coder(4, &[600], &[0, 0, 0, 0, 0]);
    for (at, byte) in [(30, 1), (31, 4), (31, 8)] {
        let mut copy = encode(&stored, &sample(600));
        copy[CHUNK + at] = byte;
        assert_eq!(*decode(&stored, &copy, 2400).unwrap_err().kind(), ErrorKind::Unsupported, "{at} {byte}");
    }
}

#[test]
fn no_data_are_a_frame_without_chunks() {
    for shape in [&[100][..], &[10, 10]] {
        let frame = round_trip(&coder(4, shape, &[]), &[]);
        assert_eq!(frame.len(), 97 + 35);
    }
}

#[test]
fn data_of_another_length_than_a_chunk_are_bytes() {
    // The input after a checksum filter.
    let coder = coder(4, &[30, 20], &[]);
    for len in [1, 31, 32, 100, 2399, 2404, 5000] {
        round_trip(&coder, &sample(2000)[..len]);
    }
}

#[test]
fn large_chunks_have_many_blocks() {
    let data = sample(500_000);
    for cname in [0, 1, 2, 4, 5] {
        for filter in 0..4 {
            for shape in [&[500_000][..], &[1000, 500], &[100, 50, 100]] {
                let stream = round_trip(&coder(4, shape, &[0, 0, 0, 0, 5, filter, cname]), &data);
                // Few compressors see through numbers that are not shuffled.
                assert!(![1, 2].contains(&filter) || stream.len() < data.len(), "{cname} {filter} {shape:?}");
            }
        }
    }
}

#[test]
fn an_array_of_another_shape_is_refused() {
    let frame = encode(&coder(4, &[30, 20], &[]), &sample(600));
    let error = decode(&coder(4, &[20, 30], &[]), &frame, 2400).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stream is damaged: the blosc2 frame holds an array of shape [30, 20], the chunk's is [20, 30]"
    );
    // Words without the shape are accepted.
    for words in [&[][..], &[1, 0, 4, 2400], &[1, 0, 4, 2400, 77, 77, 77]] {
        assert_eq!(decode(&Blosc2::coder(words).unwrap(), &frame, 2400), Ok(sample(600)));
    }
}

/// The offset of the chunk in a frame of bytes, and in the chunk those of the flags, the compressor's number and the
/// first filter.
const CHUNK: usize = 97;
const FLAGS: usize = CHUNK + 2;
const COMPRESSOR: usize = CHUNK + 22;
const FILTER: usize = CHUNK + 16;

#[test]
fn plugins_of_blosc2_are_refused_by_name() {
    let lz4 = coder(4, &[600], &[0, 0, 0, 0, 5, 1, 1]);
    let frame = encode(&lz4, &sample(600));
    let refusal = |frame: &[u8]| {
        let error = decode(&lz4, frame, 2400).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        error.to_string()
    };
    for number in [32, 36, 38, 40, 255] {
        let mut other = frame.clone();
        other[FLAGS] = 6 << 5 | frame[FLAGS] & 0x1f;
        other[COMPRESSOR] = number;
        assert_eq!(
            refusal(&other),
            format!(
                "not supported: the data are compressed with blosc2's plugin number {number}; blosclz, lz4, zlib and zstd are known"
            )
        );
    }
    for number in [5, 32, 34, 160, 255] {
        let mut other = frame.clone();
        other[FILTER] = number;
        assert_eq!(
            refusal(&other),
            format!(
                "not supported: the data went through blosc2's filter plugin number {number}; the two shuffles, delta and truncation are known"
            )
        );
    }
    let mut snappy = frame.clone();
    snappy[FLAGS] = 2 << 5 | frame[FLAGS] & 0x1f;
    assert!(refusal(&snappy).contains("format number 2"));
    let mut elsewhere = frame;
    elsewhere[0x1a] = 1;
    assert_eq!(refusal(&elsewhere), "not supported: a blosc2 frame whose chunks are in other files");
}

#[test]
fn failures_are_distinguished() {
    let lz4 = coder(4, &[600], &[0, 0, 0, 0, 5, 1, 1]);
    let frame = encode(&lz4, &sample(600));
    let kind = |bytes: &[u8], capacity| decode(&lz4, bytes, capacity).unwrap_err().kind().clone();
    for cut in (0..100).chain(frame.len() - 50..frame.len()).filter(|&cut| cut > 10) {
        assert_eq!(kind(&frame[..cut], 2400), ErrorKind::Truncated, "{cut}");
    }
    assert_eq!(kind(&[&frame[..], b"rest"].concat(), 2400), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&frame, 2399), ErrorKind::OutputFull { need: Some(2400) });
    assert_eq!(kind(b"0123456789", 2400), ErrorKind::Corrupt);
    // A start of a block within the list of them.
    let mut damaged = frame.clone();
    damaged[CHUNK + 32] = 32;
    assert_eq!(kind(&damaged, 2400), ErrorKind::Corrupt);
    // The length of the chunk's content.
    let mut damaged = frame;
    damaged[CHUNK + 4] ^= 1;
    assert_eq!(kind(&damaged, 2400), ErrorKind::Corrupt);
}

#[test]
fn absurd_lengths_take_no_memory() {
    // The frame of a chunk that claims 2 GB of zeros, as the header allows.
    let zeros = coder(4, &[600], &[]);
    let mut frame = encode(&zeros, &[0; 2400]);
    let claimed = 2_000_000_000_u32;
    frame[0x1e..0x26].copy_from_slice(&u64::from(claimed).to_be_bytes());
    frame[0x3a..0x3e].copy_from_slice(&claimed.to_be_bytes());
    let error = decode(&zeros, &frame, 2400).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(2_000_000_000) });
    assert_eq!(zeros.decoded_len(&frame), Ok(Some(2_000_000_000)));
}

/// A frame of `chunks` in order, whose index is `offsets`.
fn frame_of(header: &[u8], decoded: u64, chunk: u32, chunks: &[u8], offsets: &[u64]) -> Vec<u8> {
    let mut frame = header.to_vec();
    frame.extend(chunks);
    let len = 8 * offsets.len() as u32;
    frame.extend([5, 1, 7, 8]);
    for word in [len, len, len + 32] {
        frame.extend(word.to_le_bytes());
    }
    frame.extend([0; 16]);
    offsets.iter().for_each(|offset| frame.extend(offset.to_le_bytes()));
    frame.extend(b"\x94\x01\x93\xcd\0\x06\xde\0\0\xdc\0\0\xce\0\0\0\x23\xd8\0");
    frame.extend([0; 16]);
    let end = frame.len() as u64;
    frame[0x10..0x18].copy_from_slice(&end.to_be_bytes());
    frame[0x1e..0x26].copy_from_slice(&decoded.to_be_bytes());
    frame[0x27..0x2f].copy_from_slice(&(chunks.len() as u64).to_be_bytes());
    frame[0x3a..0x3e].copy_from_slice(&chunk.to_be_bytes());
    frame
}

#[test]
fn chunks_of_one_value_need_not_be_stored() {
    let coder = coder(4, &[600], &[]);
    let header = &encode(&coder, &sample(600))[..CHUNK];
    let zeros = frame_of(header, 2400, 2400, &[], &[0x81 << 56]);
    assert_eq!(decode(&coder, &zeros, 2400), Ok(vec![0; 2400]));
    let nans = frame_of(header, 2400, 2400, &[], &[0x82 << 56]);
    assert_eq!(decode(&coder, &nans, 2400), Ok(f32::NAN.to_le_bytes().repeat(600)));
    let unset = frame_of(header, 2400, 2400, &[], &[0x84 << 56]);
    assert_eq!(
        decode(&coder, &unset, 2400).unwrap_err().to_string(),
        "not supported: a blosc2 chunk whose values were never set"
    );
    // A value that is written once: after the header, flag 3 << 4.
    let mut value = vec![5, 1, 7, 4];
    for word in [2400_u32, 2400, 36] {
        value.extend(word.to_le_bytes());
    }
    value.extend([0; 15]);
    value.push(3 << 4);
    value.extend([1, 2, 3, 4]);
    let frame = frame_of(header, 2400, 2400, &value, &[0]);
    assert_eq!(decode(&coder, &frame, 2400), Ok([1, 2, 3, 4].repeat(600)));
    value.truncate(32);
    (value[12], value[31]) = (32, 2 << 4);
    let frame = frame_of(header, 2400, 2400, &value, &[0]);
    assert_eq!(decode(&coder, &frame, 2400), Ok(f32::NAN.to_le_bytes().repeat(600)));
}

#[test]
fn arrays_of_many_chunks_are_read_and_bytes_in_many_refused() {
    // 3 x 5 elements of one byte in chunks of 2 x 3, these in blocks of 2 x 2.
    let mut header = encode(&coder(1, &[2, 3], &[0, 2, 0, 0, 0, 0, 0]), &[0; 6])[..97 + 15 + 53].to_vec();
    let at = 97 + 15;
    header[at + 5..at + 13].copy_from_slice(&3_u64.to_be_bytes());
    header[at + 14..at + 22].copy_from_slice(&5_u64.to_be_bytes());
    let blocks = header[at + 33..].to_vec();
    assert_eq!(blocks[..11], [0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 2]);
    // A chunk of 2 x 4 with its padding: the bytes of its blocks in order.
    let chunk = |bytes: [u8; 8]| {
        let mut chunk = vec![5, 1, 7, 1];
        for word in [8_u32, 4, 40] {
            chunk.extend(word.to_le_bytes());
        }
        chunk.extend([0; 16]);
        chunk.extend(bytes);
        chunk
    };
    let chunks = [
        chunk([11, 12, 21, 22, 13, 0, 23, 0]),
        chunk([14, 15, 24, 25, 0, 0, 0, 0]),
        chunk([31, 32, 0, 0, 33, 0, 0, 0]),
        chunk([34, 35, 0, 0, 0, 0, 0, 0]),
    ]
    .concat();
    let frame = frame_of(&header, 32, 8, &chunks, &[0, 40, 80, 120]);
    let array = vec![11, 12, 13, 14, 15, 21, 22, 23, 24, 25, 31, 32, 33, 34, 35];
    assert_eq!(decode(&Blosc2::coder(&[]).unwrap(), &frame, 15), Ok(array));
    let bytes = encode(&coder(1, &[6], &[]), &[0; 6]);
    let frame = frame_of(&bytes[..CHUNK], 32, 8, &chunks, &[0, 40, 80, 120]);
    assert_eq!(
        decode(&Blosc2::coder(&[]).unwrap(), &frame, 32).unwrap_err().to_string(),
        "not supported: a blosc2 frame of 4 chunks that are not an array"
    );
}

fn words() -> impl Strategy<Value = Vec<u32>> {
    let compressors = prop::sample::select(vec![0_u32, 1, 2, 4, 5]);
    let blocksize = prop_oneof![Just(0), 1..300_u32];
    (blocksize, 0..10_u32, 0..4_u32, compressors)
        .prop_map(|(blocksize, level, filter, cname)| vec![0, blocksize, 0, 0, level, filter, cname])
}

proptest! {
    #[test]
    fn any_bytes_round_trip(
        data in prop::collection::vec(any::<u8>(), 0..3000),
        size in 1..20_usize,
        words in words(),
    ) {
        round_trip(&coder(size, &[100], &words), &data);
    }

    #[test]
    fn any_array_round_trips(
        shape in prop::collection::vec(1..7_u64, 1..6),
        size in 1..20_usize,
        words in words(),
        most in 0..=255_u8,
        seed: u64,
    ) {
        let len = shape.iter().product::<u64>() as usize * size;
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % (u64::from(most) + 1)) as u8
        };
        let data: Vec<u8> = (0..len).map(|_| next()).collect();
        round_trip(&coder(size, &shape, &words), &data);
    }

    #[test]
    fn every_other_length_of_a_frame_is_refused(
        data in prop::collection::vec(0..4_u8, 1..300),
        words in words(),
    ) {
        let coder = coder(2, &[7], &words);
        every_other_length_is_refused(&coder, &encode(&coder, &data), data.len());
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in prop::collection::vec(0..9_u8, 600..=600),
        words in words(),
        flips in prop::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        for shape in [&[150][..], &[5, 30], &[3, 5, 10]] {
            let coder = coder(4, shape, &words);
            let frame = encode(&coder, &data);
            damage_is_survived(&coder, &frame, 600, &flips);
            // Most of a frame is its header; the chunk begins after 97 bytes or more.
            let near: Vec<_> = flips.iter().map(|&(at, bits)| (97 + at % (frame.len() - 97), bits)).collect();
            damage_is_survived(&coder, &frame, 600, &near);
            damage_is_survived(&coder, &[&frame[..CHUNK], &garbage].concat(), 600, &[]);
        }
        damage_is_survived(&coder(4, &[150], &words), &garbage, 600, &[]);
    }
}
