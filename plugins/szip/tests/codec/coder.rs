//! The szip coder against stored chunks of libaec and against rust-hdf5's port of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ncz_szip::{Scratch, SzError, SzParams, frame_header, option, split_frame};
use proptest::prelude::*;
use rust_hdf5::format::szip as oracle;

/// The largest chunk here.
const LIMIT: usize = 1 << 20;

#[test]
fn stored_hdf5_chunks_decode_and_encode_byte_for_byte() {
    let mut decoded_cases = 0;
    for case in stored_cases() {
        let Case { name, params, masked, encoded, raw } = case;
        if masked {
            assert_eq!(encoded, raw, "{name}: a masked chunk is stored raw");
            // HDF5's output buffer has the size of the data: our encoder must not fit in it either.
            let stream = encode(&params, &raw).unwrap();
            assert!(stream.len() + 4 >= raw.len(), "{name}");
            assert_eq!(decode(&params, &stream, raw.len()).unwrap(), raw, "{name}");
            continue;
        }
        let (len, stream) = split_frame(&encoded, LIMIT).unwrap();
        assert_eq!(decode(&params, stream, len).unwrap(), raw, "{name}");
        let ours = encode(&params, &raw).unwrap();
        assert_eq!([&frame_header(raw.len()).unwrap()[..], &ours].concat(), encoded, "{name}");
        decoded_cases += 1;
    }
    assert_eq!(decoded_cases, 4);
}

#[test]
fn every_truncation_of_stored_chunks_is_an_error() {
    for Case { name, params, encoded, .. } in stored_cases().into_iter().filter(|c| !c.masked) {
        let (len, stream) = split_frame(&encoded, LIMIT).unwrap();
        for cut in 0..stream.len() {
            let error = decode(&params, &stream[..cut], len).unwrap_err();
            assert_eq!(error, SzError::Truncated, "{name} cut to {cut}");
        }
        for more in 1..20 {
            for byte in [0, 0xFF] {
                let longer = [stream, &vec![byte; more]].concat();
                let error = decode(&params, &longer, len).unwrap_err();
                assert_eq!(error, SzError::Trailing { bytes: more }, "{name}");
            }
        }
    }
}

#[test]
fn every_truncation_of_a_short_last_scanline_is_an_error() {
    // 1000 pixels in scanlines of 512: blocks of padding follow the last pixel.
    for mask in [option::NN, option::EC] {
        let params = SzParams::new(mask, 4, 8, 512).unwrap();
        let raw: Vec<u8> = (0..1000u32).map(|i| (i * i / 500) as u8).collect();
        let stream = encode(&params, &raw).unwrap();
        for cut in 0..stream.len() {
            let error = decode(&params, &stream[..cut], raw.len()).unwrap_err();
            assert!(matches!(error, SzError::Truncated | SzError::Unpadded), "{cut}: {error}");
        }
    }
}

#[test]
fn a_stream_without_the_padding_of_its_last_scanline_is_accepted_on_demand() {
    // libaec before 0.3.4 wrote only the blocks that hold pixels. Such a stream of 24 pixels
    // in a scanline of 64 equals one of a scanline of 24, as long as no run of zeros differs.
    let raw: Vec<u8> = (0..24u32).map(|i| (i * 37) as u8).collect();
    let stream = encode(&SzParams::new(option::NN, 8, 8, 24).unwrap(), &raw).unwrap();
    let params = SzParams::new(option::NN, 8, 8, 64).unwrap();
    assert_eq!(decode(&params, &stream, 24).unwrap_err(), SzError::Unpadded);
    assert_eq!(decode(&params.accept_unpadded(), &stream, 24).unwrap(), raw);
    for cut in 0..stream.len() {
        let error = decode(&params.accept_unpadded(), &stream[..cut], 24).unwrap_err();
        assert_eq!(error, SzError::Truncated);
    }
}

#[test]
fn no_pixels_are_one_byte() {
    let params = SzParams::new(option::NN, 8, 32, 64).unwrap();
    let stream = encode(&params, &[]).unwrap();
    assert_eq!(stream, [0]);
    assert_eq!(stream, oracle::compress(&[], 32, 8, 64, option::NN).unwrap());
    assert_eq!(decode(&params, &stream, 0).unwrap(), b"");
    assert_eq!(decode(&params, &[], 0).unwrap_err(), SzError::Truncated);
    assert_eq!(decode(&params, &[0, 0], 0).unwrap_err(), SzError::Trailing { bytes: 1 });
}

#[test]
fn parameters_out_of_range_are_named() {
    let new = SzParams::new;
    assert_eq!(new(64, 8, 8, 8).unwrap_err(), SzError::Mask { mask: 64, unknown: 64 });
    for block in [0, 1, 7, 33, 34, u32::MAX] {
        assert_eq!(new(4, block, 8, 8).unwrap_err(), SzError::PixelsPerBlock(block));
    }
    for bits in [0, 33, 63, 65, u32::MAX] {
        assert_eq!(new(4, 8, bits, 8).unwrap_err(), SzError::BitsPerPixel(bits));
    }
    for scanline in [0, 4097, u32::MAX] {
        assert_eq!(new(4, 8, 8, scanline).unwrap_err(), SzError::PixelsPerScanline(scanline));
    }
    assert_eq!(new(64, 8, 8, 8).unwrap_err().to_string(), "options mask 0x40 has unknown bits 0x40");
}

#[test]
fn a_pixel_over_its_declared_bits_is_refused_when_encoding() {
    let params = SzParams::new(option::NN | option::MSB, 2, 12, 3).unwrap();
    assert!(encode(&params, &[0x0F, 0xFF, 0, 0, 0, 0, 0x0F, 0xFF]).is_ok());
    assert_eq!(
        encode(&params, &[0x0F, 0xFF, 0, 0, 0, 0, 0x1F, 0xFF]).unwrap_err(),
        SzError::SampleRange { scanline: 1, bits: 12 }
    );
}

#[test]
fn lengths_that_cut_a_pixel_are_refused() {
    for (bits, pixel) in [(8, 1), (9, 2), (17, 4), (24, 4), (32, 4), (64, 8)] {
        let params = SzParams::new(option::NN, 8, bits, 16).unwrap();
        assert_eq!(params.pixel_bytes(), pixel);
        for len in (1..2 * pixel).filter(|len| len % pixel != 0) {
            let error = SzError::PartialPixel { len, pixel };
            assert_eq!(encode(&params, &vec![0; len]).unwrap_err(), error);
            assert_eq!(decode(&params, &[0], len).unwrap_err(), error);
        }
    }
}

#[test]
fn a_frame_declares_no_more_than_the_limit() {
    let frame = [&frame_header(5).unwrap()[..], b"stream"].concat();
    assert_eq!(split_frame(&frame, 5).unwrap(), (5, &b"stream"[..]));
    let error = SzError::OverLimit { declared: 5, limit: 4 };
    assert_eq!(split_frame(&frame, 4).unwrap_err(), error);
    assert_eq!(split_frame(&frame[..3], 5).unwrap_err(), SzError::Truncated);
    let len = 1 << 32;
    assert_eq!(frame_header(len).unwrap_err(), SzError::TooLong { len });
}

#[test]
fn bits_in_the_fill_of_the_last_byte_are_an_error() {
    let params = SzParams::new(option::EC, 2, 8, 2).unwrap();
    let mut stream = encode(&params, &[200, 100]).unwrap();
    assert_eq!(stream.len(), 3, "3 + 16 bits");
    stream[2] |= 1;
    assert!(matches!(decode(&params, &stream, 2), Err(SzError::Corrupt(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_equal_the_port_of_libaec((params, raw) in any_chunk()) {
        let [mask, block, bits, scanline] = params.cd_values();
        let stream = encode(&params, &raw).unwrap();
        prop_assert!(stream.len() <= params.max_encoded_len(raw.len()).unwrap());
        prop_assert_eq!(&decode(&params, &stream, raw.len()).unwrap(), &raw);
        // The port requires a multiple of 3 bytes for 17 to 24 bits, without a reason.
        if raw.len().is_multiple_of(bits.div_ceil(8) as usize) {
            let theirs = oracle::compress(&raw, bits, block, scanline, mask).unwrap();
            prop_assert_eq!(&stream, &theirs);
            let decoded = oracle::decompress(&stream, raw.len(), bits, block, scanline, mask);
            prop_assert_eq!(&decoded.unwrap(), &raw);
        }
    }

    #[test]
    fn room_that_is_one_byte_short_is_an_error((params, raw) in any_chunk(), less in 1usize..40) {
        let len = encode(&params, &raw).unwrap().len();
        let mut exact = vec![0; len];
        prop_assert_eq!(params.encode(&mut Scratch::default(), &raw, &mut exact), Ok(len));
        let capacity = len.saturating_sub(less);
        let error = params.encode(&mut Scratch::default(), &raw, &mut exact[..capacity]);
        prop_assert_eq!(error, Err(SzError::OutputFull { capacity }));
    }

    #[test]
    fn truncations_and_additions_are_errors((params, raw) in any_chunk(), at: u16, more in 1usize..20) {
        let stream = encode(&params, &raw).unwrap();
        let cut = usize::from(at) % stream.len();
        let error = decode(&params, &stream[..cut], raw.len()).unwrap_err();
        prop_assert!(matches!(error, SzError::Truncated | SzError::Unpadded), "{}", error);
        let longer = [&stream[..], &vec![at as u8; more]].concat();
        let error = decode(&params, &longer, raw.len()).unwrap_err();
        let trailing = SzError::Trailing { bytes: more };
        prop_assert_eq!(error, trailing);
    }

    #[test]
    fn flipped_bits_do_no_harm((params, raw) in any_chunk(), flips in prop::collection::vec(any::<u32>(), 1..4)) {
        let mut stream = encode(&params, &raw).unwrap();
        for flip in flips {
            let at = flip as usize / 8 % stream.len();
            stream[at] ^= 1 << (flip % 8);
        }
        let _ = decode(&params, &stream, raw.len());
        let _ = decode(&params.accept_unpadded(), &stream, raw.len());
    }

    #[test]
    fn random_bytes_do_no_harm(params in any_params(), stream in prop::collection::vec(any::<u8>(), 0..2000), pixels in 0usize..5000) {
        let _ = decode(&params, &stream, pixels * params.pixel_bytes());
        let _ = decode(&params.accept_unpadded(), &stream, pixels * params.pixel_bytes());
    }

    #[test]
    fn scratch_that_served_other_parameters_changes_nothing(a in any_chunk(), b in any_chunk()) {
        let mut scratch = Scratch::default();
        for (params, raw) in [&a, &b, &a] {
            let fresh = encode(params, raw).unwrap();
            let mut output = vec![0xAA; params.max_encoded_len(raw.len()).unwrap()];
            let len = params.encode(&mut scratch, raw, &mut output).unwrap();
            prop_assert_eq!(&output[..len], &fresh[..]);
            let mut decoded = vec![0xAA; raw.len()];
            prop_assert_eq!(params.decode(&mut scratch, &fresh, &mut decoded), Ok(raw.len()));
            prop_assert_eq!(&decoded, raw);
        }
    }
}

struct Case {
    name: String,
    params: SzParams,
    masked: bool,
    encoded: Vec<u8>,
    raw: Vec<u8>,
}

/// The szip chunks that libhdf5 wrote; see the fixtures' README.
fn stored_cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/hdf5-chunks.zip");
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    let names: Vec<String> = archive
        .file_names()
        .map(|name| name.unwrap().into_owned())
        .filter(|name| name.starts_with("szip-"))
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    assert_eq!(names.len(), 10);
    let mut bytes = |name: String| {
        let mut content = Vec::new();
        archive.by_name(&name).unwrap().read_to_end(&mut content).unwrap();
        content
    };
    let cases = names.into_iter().map(|name| {
        let json: serde_json::Value = serde_json::from_slice(&bytes(format!("{name}.json"))).unwrap();
        let words: Vec<u32> = json["filters"][0]["params"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_u64().unwrap() as u32)
            .collect();
        Case {
            params: SzParams::new(words[0], words[1], words[2], words[3]).unwrap(),
            masked: json["filter_mask"] != 0,
            encoded: bytes(format!("{name}.enc")),
            raw: bytes(format!("{name}.raw")),
            name,
        }
    });
    cases.collect()
}

fn any_params() -> impl Strategy<Value = SzParams> {
    let bits = prop_oneof![
        4 => prop::sample::select(vec![8u32, 16, 32, 64]),
        3 => 1u32..=32,
    ];
    let scanline = prop_oneof![1u32..100, 1u32..=4096, prop::sample::select(vec![64u32, 128, 4096])];
    // Any subset of the known bits.
    let mask = prop::sample::subsequence(vec![1u32, 2, 4, 8, 16, 32, 128], 0..=7);
    (mask, 1u32..=16, bits, scanline, any::<bool>()).prop_map(|(mask, half, bits, scanline, even)| {
        let block = 2 * half;
        let scanline = if even { (scanline * block).clamp(block, 4096 / block * block) } else { scanline };
        SzParams::new(mask.iter().sum(), block, bits, scanline).unwrap()
    })
}

fn any_chunk() -> impl Strategy<Value = (SzParams, Vec<u8>)> {
    let pixels = prop_oneof![4 => 1usize..600, 1 => 1usize..9000];
    (any_params(), pixels, 0u32..7, any::<u64>()).prop_map(|(params, pixels, kind, seed)| {
        let raw = pixels_of(&params, pixels, kind, seed);
        (params, raw)
    })
}

/// Pixels within their bits: constants, ramps, waves, noise of some size, rare spikes, zeros
/// with spikes, or a change between these.
fn pixels_of(params: &SzParams, pixels: usize, kind: u32, seed: u64) -> Vec<u8> {
    let [mask, _, bits, _] = params.cd_values();
    let width = params.pixel_bytes();
    let max = u64::MAX >> (64 - bits);
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (base, step, noise) = (random() & max, random() % 8, random() % u64::from(bits));
    let mut bytes = Vec::with_capacity(pixels * width);
    for i in 0..pixels as u64 {
        let kind = if kind == 6 { i / 97 % 6 } else { kind.into() };
        let small = random() & (u64::MAX >> (63 - noise));
        let value = match kind {
            0 => base,
            1 => base.wrapping_add(i.wrapping_mul(step) / 4),
            2 => ((max as f64 / 2.1) * (1.0 + (i as f64 / 40.0).sin())) as u64,
            3 => base.wrapping_add(small),
            4 => {
                if random() % 40 == 0 {
                    random()
                } else {
                    base
                }
            }
            _ => {
                if random() % 300 == 0 {
                    small
                } else {
                    0
                }
            }
        } & max;
        let le = value.to_le_bytes();
        if mask & option::MSB != 0 {
            bytes.extend(le[..width].iter().rev());
        } else {
            bytes.extend(&le[..width]);
        }
    }
    bytes
}

fn encode(params: &SzParams, raw: &[u8]) -> Result<Vec<u8>, SzError> {
    let mut output = vec![0; params.max_encoded_len(raw.len()).unwrap()];
    let len = params.encode(&mut Scratch::default(), raw, &mut output)?;
    output.truncate(len);
    Ok(output)
}

fn decode(params: &SzParams, stream: &[u8], len: usize) -> Result<Vec<u8>, SzError> {
    let mut output = vec![0; len];
    assert_eq!(params.decode(&mut Scratch::default(), stream, &mut output)?, len);
    Ok(output)
}
