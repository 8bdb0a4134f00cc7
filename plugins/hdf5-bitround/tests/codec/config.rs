//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_hdf5_bitround::BitRoundH5;
use serde_json::json;

fn bind(words: &[u32], dtype: Dtype, fill: Option<&[u8]>) -> Result<Vec<u32>> {
    let shape = vec![64, 48];
    let env =
        Env { dtype, array_shape: vec![100, 48], chunk_shape: shape.clone(), container: Container::Hdf5 };
    let input = Repr::Array { dtype, shape, fill: fill.map(<[u8]>::to_vec) };
    let bound = BitRoundH5::from_params(words)?.bind(&input, &env)?;
    assert_eq!(bound.output, input);
    Ok(bound.working)
}

#[test]
fn one_word_is_given_and_what_was_stored_for_another_variable_is_made_anew() {
    for words in [&[7][..], &[7, 8], &[7, 8, 1, 2, 3]] {
        let codec = BitRoundH5::from_params(words).unwrap();
        assert_eq!(codec, BitRoundH5 { keepbits: 7 });
        assert_eq!(codec.to_params().unwrap(), [7]);
        assert_eq!(bind(words, Dtype::little(Kind::Float, 4), None).unwrap(), [7, 4, 0, 0, 0]);
    }
}

#[test]
fn the_fill_value_goes_into_the_working_words_low_word_first() {
    let double = 1.25_f64.to_bits();
    for (dtype, fill, words) in [
        (Dtype::little(Kind::Float, 4), 1.5_f32.to_le_bytes().to_vec(), [7, 4, 1, 1.5_f32.to_bits(), 0]),
        (
            Dtype::little(Kind::Float, 8),
            double.to_le_bytes().to_vec(),
            [7, 8, 1, double as u32, (double >> 32) as u32],
        ),
        (Dtype::little(Kind::Float, 8), vec![0; 8], [7, 8, 1, 0, 0]),
    ] {
        assert_eq!(bind(&[7], dtype, Some(&fill)).unwrap(), words);
    }
}

#[test]
fn other_input_is_refused_with_what_would_do() {
    let message = |words: &[u32], dtype| bind(words, dtype, None).unwrap_err().to_string();
    let float = Dtype::little(Kind::Float, 4);
    assert_eq!(
        message(&[], float),
        r#"configuration key "cd_values" is not usable: bitroundh5 takes 1 to 5 parameters, got 0"#
    );
    assert!(message(&[7; 6], float).contains("got 6"));
    assert_eq!(
        message(&[0], float),
        r#"configuration key "cd_values[0]" is not usable: at least 1 bit of the mantissa is kept"#
    );
    assert_eq!(
        message(&[7], Dtype::big(Kind::Float, 8)),
        "not supported: programs with HDF5's BitRound filter would corrupt big-endian numbers; make the variable little-endian"
    );
    for dtype in [
        Dtype::little(Kind::Float, 2),
        Dtype::little(Kind::Int, 4),
        Dtype::little(Kind::Complex, 8),
        Dtype::little(Kind::Opaque, 4),
        Dtype::little(Kind::Bool, 1),
    ] {
        assert_eq!(
            message(&[7], dtype),
            "not supported: only floating-point numbers of 4 or 8 bytes are rounded by bitroundh5"
        );
    }
    let env =
        Env { dtype: float, array_shape: vec![9], chunk_shape: vec![9], container: Container::NczarrV2 };
    let bytes = Repr::Bytes { size: Size::Exact(36) };
    assert_eq!(
        BitRoundH5 { keepbits: 7 }.bind(&bytes, &env).unwrap_err().to_string(),
        "not supported: bytes of another codec are not numbers to round; bitroundh5 must be the first of its chain"
    );
}

#[test]
fn it_has_no_json_and_is_not_the_bitround_of_numcodecs() {
    let config = json!({"keepbits": 7});
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        assert!(BitRoundH5::INFO.names(dialect).is_empty());
        let error = BitRoundH5 { keepbits: 7 }.to_json(dialect).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not supported: bitroundh5 has no JSON form; bitround of numcodecs rounds differently and does not preserve a fill value"
        );
        let read = BitRoundH5::from_json(dialect, config.as_object().unwrap(), &mut Vec::new());
        assert_eq!(read.unwrap_err(), error);
    }
}
