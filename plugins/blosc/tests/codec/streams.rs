//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_blosc::{Blosc, BloscCoder};
use ncz_codec::{Codec, CodecConfig, Coder, Container, Dtype, Env, ErrorKind, Kind, Repr, Size};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// A coder for elements of `typesize` bytes, with blocks of `blocksize`.
fn coder(typesize: u32, blocksize: u32, level: u32, shuffle: u32, compressor: u32) -> BloscCoder {
    let env = Env {
        dtype: Dtype::little(Kind::Opaque, typesize as usize),
        array_shape: vec![1],
        chunk_shape: vec![1],
        container: Container::ZarrV2,
    };
    let blosc = Blosc::from_params(&[0, 0, 0, blocksize, level, shuffle, compressor]).unwrap();
    blosc.bind(&Repr::Bytes { size: Size::Unknown }, &env).unwrap().coder
}

/// The content of the frames under `tests/fixtures/codecs/blosc`.
fn values(count: u64) -> Vec<u8> {
    (0..count).flat_map(|n| (((n * n) >> 6) % 5003).to_le_bytes()[..4].to_vec()).collect()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte() {
    let (mut seen, mut masked, mut same) = (0, 0, 0);
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 32001 {
            continue;
        }
        let coder = Blosc::coder(&filter.params).unwrap();
        let ours = round_trip(&coder, &case.raw);
        if case.filter_mask != 0 {
            // HDF5 skipped the filter because the data do not shrink; ours is a valid frame that holds a copy.
            assert!(case.encoded == case.raw);
            assert_eq!(ours.len(), case.raw.len() + 16);
            masked += 1;
            continue;
        }
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        if seen % 8 == 0 {
            every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
        }
        seen += 1;
        if ours == case.encoded {
            same += 1;
        } else {
            println!("other bytes: {} {} {}", case.name, ours.len(), case.encoded.len());
        }
    }
    assert_eq!(seen + masked, 75);
    assert_eq!(same, seen, "the same library makes the same bytes");
}

#[test]
fn frames_of_numcodecs_and_hdf5plugin_decode_forever() {
    let folder = ncz_test_support::fixtures().join("codecs/blosc");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let frame = std::fs::read(&path).unwrap();
        let count = match name.as_str() {
            "numcodecs-copy" => 100,
            "numcodecs-empty" => 0,
            _ => 20_000,
        };
        let coder = Blosc::coder(&[]).unwrap();
        assert!(decode(&coder, &frame, count as usize * 4) == Ok(values(count)), "{name}");
        assert_eq!(coder.decoded_len(&frame), Ok(Some(count as usize * 4)));
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn snappy_is_not_worse_than_other_implementations() {
    let theirs = ncz_test_support::fixtures().join("codecs/blosc/hdf5plugin-snappy-byte");
    let theirs = std::fs::metadata(theirs).unwrap().len() as usize;
    let ours = round_trip(&coder(4, 0, 5, 1, 3), &values(20_000)).len();
    assert!(ours < theirs + theirs / 10, "{ours} against {theirs} bytes");
}

#[test]
fn encoding_needs_words_and_decoding_does_not() {
    let frame = encode(&coder(4, 0, 5, 1, 1), &values(100));
    let bare = Blosc::coder(&[]).unwrap();
    assert!(decode(&bare, &frame, 400) == Ok(values(100)));
    assert_eq!(
        bare.encode(&mut bare.scratch(), &[0; 4], &mut [0; 20]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: blosc needs the size of an element in the third word to encode"#
    );
}

#[test]
fn failures_are_distinguished() {
    let blosc = coder(4, 0, 5, 1, 1);
    let data = values(1000);
    let frame = encode(&blosc, &data);
    let kind = |bytes: &[u8], capacity| decode(&blosc, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[], 4000), ErrorKind::Truncated);
    assert_eq!(kind(&frame[..15], 4000), ErrorKind::Truncated);
    assert_eq!(kind(&frame[..frame.len() - 1], 4000), ErrorKind::Truncated);
    assert_eq!(kind(&[&frame[..], b"rest"].concat(), 4000), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&frame, 3999), ErrorKind::OutputFull { need: Some(4000) });
    let mut blosc2 = frame.clone();
    blosc2[0] = 5;
    assert_eq!(kind(&blosc2, 4000), ErrorKind::Unsupported);
    assert_eq!(kind(b"this is not a frame of blosc", 4000), ErrorKind::Corrupt);
    for at in [4, 8, 12] {
        let mut absurd = frame.clone();
        absurd[at..at + 4].fill(0xff);
        assert!(decode(&blosc, &absurd, 4000).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        repeat in 0..60_usize,
        typesize in prop_oneof![1..=17_u32, Just(255), Just(256), Just(1000)],
        blocksize in prop_oneof![Just(0_u32), 1..5000_u32],
        level in 0..=9_u32,
        shuffle in 0..3_u32,
        compressor in 0..6_u32,
    ) {
        round_trip(&coder(typesize, blocksize, level, shuffle, compressor), &noise);
        round_trip(&coder(typesize, blocksize, level, shuffle, compressor), &noise.repeat(repeat));
    }

    #[test]
    fn every_other_length_of_a_frame_is_refused(count in 0..100_u64, compressor in 0..6_u32, shuffle in 0..3_u32) {
        let blosc = coder(4, 0, 5, shuffle, compressor);
        every_other_length_is_refused(&blosc, &encode(&blosc, &values(count)), count as usize * 4);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        count in 1..3000_u64,
        typesize in 1..20_u32,
        shuffle in 0..3_u32,
        compressor in 0..6_u32,
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        header in proptest::collection::vec((0..24_usize, 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let blosc = coder(typesize, 600, 5, shuffle, compressor);
        let data = values(count);
        let frame = encode(&blosc, &data);
        damage_is_survived(&blosc, &frame, data.len(), &flips);
        damage_is_survived(&blosc, &frame, data.len(), &header);
        damage_is_survived(&blosc, &garbage, 1000, &[]);
        // A header that fits, before garbage.
        let length = (garbage.len() as u32 + 16).to_le_bytes();
        let fits = [&frame[..12], &length, &garbage].concat();
        damage_is_survived(&blosc, &fits, data.len(), &[]);
    }
}

/// A small frame of one block of 650 MB, in a process without enough memory for it: the library does not check
/// allocations.
#[cfg(target_os = "linux")]
#[test]
fn large_blocks_without_memory_for_them_are_an_error() {
    const CHILD: &str = "NCZ_BLOSC_TEST_WITHOUT_MEMORY";
    if std::env::var_os(CHILD).is_none() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -v 1500000 && exec \"$0\" --exact \"$1\""]);
        command.arg(std::env::current_exe().unwrap());
        command.arg("large_blocks_without_memory_for_them_are_an_error").env(CHILD, "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let block = 650_u32 << 20;
    // LZ4: 20 letters as they are, then as many copies of the last one as fill the stream.
    let mut stream = [&[0xff, 5][..], &[b'x'; 20], &[1, 0]].concat();
    stream.resize(5000, 255);
    let mut frame = vec![2, 1, 1 << 5 | 0x10 | 1, 4];
    for word in [block, block, 16 + 4 + 4 + 5000, 20, 5000] {
        frame.extend_from_slice(&word.to_le_bytes());
    }
    frame.extend_from_slice(&stream);
    let coder = coder(4, 0, 5, 1, 1);
    let mut output = vec![0; block as usize];
    let error = coder.decode(&mut coder.scratch(), &frame, &mut output).unwrap_err();
    assert!(error.to_string().contains("no memory"), "{error}");
}
