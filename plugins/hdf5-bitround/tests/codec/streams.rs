//! Stored chunks of The HDF Group's filter, and what holds for every chunk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{ByteOrder, Codec, CodecConfig, Coder, Container, Dtype, Env, ErrorKind, Kind, Repr};
use ncz_hdf5_bitround::{BitRoundH5, BitRoundH5Coder};
use proptest::prelude::*;
use serde_json::Value;

use properties::{decode, encode};

fn coder(words: [u32; 5]) -> BitRoundH5Coder {
    BitRoundH5::coder(&words).unwrap()
}

fn words(json: &Value) -> Vec<u32> {
    json.as_array().unwrap().iter().map(|word| word.as_u64().unwrap() as u32).collect()
}

fn bytes(json: &Value) -> Option<Vec<u8>> {
    let digits = json.as_str()?;
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    Some((0..digits.len()).step_by(2).map(byte).collect())
}

fn dtype(text: &str) -> Dtype {
    if text == "<c8" { Dtype::little(Kind::Complex, 8) } else { stored::dtype(text) }
}

#[test]
fn numbers_are_rounded_to_the_bits_of_the_hdf5_filter() {
    let path = ncz_test_support::fixtures().join("codecs/filter_32032.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (mut same, mut out, mut refused, mut spoiled) = (0, 0, 0, 0);
    for case in &cases {
        let name = format!("{} {} {}", case["dtype"], case["given"], case["fill"]);
        let (dtype, raw) = (dtype(case["dtype"].as_str().unwrap()), bytes(&case["raw"]).unwrap());
        let shape = vec![(raw.len() / dtype.size) as u64];
        let env =
            Env { dtype, array_shape: shape.clone(), chunk_shape: shape.clone(), container: Container::Hdf5 };
        let input = Repr::Array { dtype, shape, fill: bytes(&case["fill"]) };
        let given = words(&case["given"]);
        let bound = BitRoundH5::from_params(&given).and_then(|codec| codec.bind(&input, &env));
        let Some(encoded) = bytes(&case["encoded"]) else {
            assert!(case["refused"].is_string() && bound.is_err(), "{name}");
            refused += 1;
            continue;
        };
        let Ok(bound) = bound else {
            match dtype.order {
                // They round the wrong ends of the numbers.
                ByteOrder::Big => spoiled += usize::from(encoded != raw),
                // They take themselves out of the chain, or look at no more than five words.
                ByteOrder::Little => out += usize::from(case["stored"].is_null() || given.len() > 5),
            }
            continue;
        };
        if case["stored"].is_null() {
            assert_eq!(encode(&bound.coder, &raw), raw, "{name}");
            out += 1;
            continue;
        }
        // Words after a flag of 0 have no meaning.
        let mut stored = words(&case["stored"]);
        if stored[2] == 0 {
            stored[3..].fill(0);
        }
        assert_eq!(bound.working, stored, "{name}");
        for coder in [bound.coder, BitRoundH5::coder(&bound.working).unwrap()] {
            assert_eq!(encode(&coder, &raw), encoded, "{name}");
            assert_eq!(decode(&coder, &encoded, raw.len()), Ok(encoded.clone()), "{name}");
        }
        same += 1;
    }
    assert_eq!((same, out, refused, spoiled), (102, 8, 5, 2));
    assert_eq!(cases.len(), same + out + refused + spoiled);
}

#[test]
fn a_chunk_decodes_whatever_words_a_file_has() {
    for words in [&[][..], &[7], &[0; 5], &[7, 2, 0, 0, 0], &[7, 4, 1, 0], &[u32::MAX; 9]] {
        let coder = BitRoundH5::coder(words).unwrap();
        assert_eq!(decode(&coder, b"any bytes", 9), Ok(b"any bytes".to_vec()));
        assert_eq!(coder.decoded_len(b"any bytes"), Ok(Some(9)));
    }
}

#[test]
fn failures_are_distinguished() {
    let message = |words: &[u32], len| {
        let coder = BitRoundH5::coder(words).unwrap();
        coder.encode(&mut (), &vec![0; len], &mut [0; 99]).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[7], 8),
        r#"configuration key "cd_values" is not usable: bitroundh5 rounds with 5 parameters, 1 are stored"#
    );
    assert_eq!(
        message(&[7, 2, 0, 0, 0], 8),
        r#"configuration key "cd_values[1]" is not usable: numbers of 2 bytes are not rounded, those of 4 or 8 are"#
    );
    assert_eq!(message(&[7, 4, 0, 0, 0], 7), "not supported: 7 bytes are not whole numbers of 4 bytes");
    assert_eq!(message(&[7, 8, 0, 0, 0], 12), "not supported: 12 bytes are not whole numbers of 8 bytes");
    let four = coder([7, 4, 0, 0, 0]);
    let full = ErrorKind::OutputFull { need: Some(8) };
    assert_eq!(*four.encode(&mut (), &[0; 8], &mut [0; 7]).unwrap_err().kind(), full);
    assert_eq!(*decode(&four, &[0; 8], 7).unwrap_err().kind(), full);
    assert!(encode(&four, &[]).is_empty());
}

proptest! {
    #[test]
    fn a_number_becomes_the_nearest_that_the_bits_allow(
        bits in any::<u32>(),
        fill in any::<u32>(),
        keepbits in 1..23_u32,
    ) {
        let rounded = |bits: u32| {
            let stream = encode(&coder([keepbits, 4, 1, fill, 0]), &bits.to_le_bytes());
            u32::from_le_bytes(stream.try_into().unwrap())
        };
        let (once, unit) = (rounded(bits), 1_u64 << (23 - keepbits));
        if f32::from_bits(bits) == f32::from_bits(fill) || f32::from_bits(bits).is_nan() {
            prop_assert_eq!(once, bits);
        } else {
            prop_assert_eq!(u64::from(once) % unit, 0);
            prop_assert!(u64::from(once.abs_diff(bits)) * 2 <= unit);
            // Of two as near it is the greater.
            prop_assert!(u64::from(once.abs_diff(bits)) * 2 < unit || once > bits);
        }
        prop_assert_eq!(rounded(once), once);
        prop_assert_eq!(rounded(fill), fill);
    }

    #[test]
    fn doubles_are_rounded_as_single_numbers_are(value in any::<f32>(), keepbits in 1..23_u32) {
        // Except if one has fewer bits than the other, or no larger numbers.
        prop_assume!(value.is_normal() && value.abs() < 1e38);
        let single = encode(&coder([keepbits, 4, 0, 0, 0]), &value.to_le_bytes());
        let double = encode(&coder([keepbits, 8, 0, 0, 0]), &f64::from(value).to_le_bytes());
        let single = f32::from_le_bytes(single.try_into().unwrap());
        prop_assert_eq!(f64::from_le_bytes(double.try_into().unwrap()), f64::from(single));
    }

    #[test]
    fn any_bytes_are_taken_and_given_back(
        data in proptest::collection::vec(any::<u8>(), 0..2000),
        keepbits in 0..70_u32,
        size in proptest::sample::select(vec![4_usize, 8]),
        fill in any::<Option<u64>>(),
    ) {
        let data = &data[..data.len() - data.len() % size];
        let (has_fill, fill) = (u32::from(fill.is_some()), fill.unwrap_or(0));
        let coder = coder([keepbits, size as u32, has_fill, fill as u32, (fill >> 32) as u32]);
        let stream = encode(&coder, data);
        prop_assert_eq!(decode(&coder, &stream, data.len()), Ok(stream));
    }
}
