//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/v3_types.rs"]
mod v3_types;

use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_fixedscaleoffset::{Factor, FixedScaleOffset};
use serde_json::Value;

const UNTYPED: FixedScaleOffset =
    FixedScaleOffset { offset: Factor::Float(0.5), scale: Factor::Integer(10), dtype: None, astype: None };

fn typed(dtype: &str, astype: &str) -> FixedScaleOffset {
    FixedScaleOffset { dtype: Some(dtype.parse().unwrap()), astype: Some(astype.parse().unwrap()), ..UNTYPED }
}

fn parse(dialect: Dialect, text: &str) -> Result<FixedScaleOffset> {
    let config: Value = serde_json::from_str(text).unwrap();
    FixedScaleOffset::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV3 }
}

#[test]
fn json_and_words_give_back_what_was_read() {
    let whole =
        FixedScaleOffset { offset: Factor::Integer(-7), scale: Factor::Float(10.0), ..typed("<i8", "|u1") };
    for codec in [typed("<f8", "<i2"), typed(">f4", ">f4"), whole] {
        assert_eq!(FixedScaleOffset::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            // As text, in which 10 and 10.0 must differ.
            let text = Value::Object(codec.to_json(dialect).unwrap()).to_string();
            assert_eq!(parse(dialect, &text), Ok(codec), "{text}");
        }
    }
    let text = Value::Object(whole.to_json(Dialect::Numcodecs).unwrap()).to_string();
    assert_eq!(text, r#"{"scale":10.0,"offset":-7,"dtype":"<i8","astype":"|u1"}"#);
    assert_eq!(FixedScaleOffset::from_params(&UNTYPED.to_params().unwrap()), Ok(UNTYPED));
}

#[test]
fn in_zarr_v3_a_missing_type_is_that_of_the_elements() {
    assert_eq!(parse(Dialect::ZarrV3, r#"{"scale": 10, "offset": 0.5}"#), Ok(UNTYPED));
    let floats = env(Dtype::little(Kind::Float, 4));
    let astype = FixedScaleOffset { astype: Some("<i2".parse().unwrap()), ..UNTYPED };
    let bound = astype.bind(&floats.chunk(), &floats).unwrap();
    assert_eq!(bound.stored, typed("<f4", "<i2"));
    let shorts = Repr::Array { dtype: Dtype::little(Kind::Int, 2), shape: vec![64, 48], fill: None };
    assert_eq!(bound.output, shorts);
    let bytes = Repr::Bytes { size: Size::Exact(8) };
    assert_eq!(
        UNTYPED.bind(&bytes, &floats).unwrap_err().to_string(),
        r#"configuration key "dtype" is not usable: the number type is unknown; give it"#
    );
    let letters = env(Dtype::little(Kind::Opaque, 3));
    assert!(UNTYPED.bind(&letters.chunk(), &letters).is_err());
}

#[test]
fn wrong_input_is_named() {
    let message = |text: &str| parse(Dialect::Numcodecs, text).unwrap_err().to_string();
    let missing = |key| {
        format!(
            r#"configuration key "{key}" is not usable: it is missing; an example is {{"scale": 10, "offset": 0, "dtype": "<f4", "astype": "<i2"}}"#
        )
    };
    assert_eq!(message(r#"{"scale": 10}"#), missing("offset"));
    assert_eq!(message(r#"{"offset": 10}"#), missing("scale"));
    assert_eq!(message(r#"{"offset": 10, "scale": 1}"#), missing("dtype"));
    assert_eq!(
        message(r#"{"offset": 10, "scale": "1"}"#),
        r#"configuration key "scale" is not usable: expected a number, got "1""#
    );
    for zero in ["0", "0.0", "-0.0"] {
        let text = format!(r#"{{"offset": 10, "scale": {zero}, "dtype": "<f4"}}"#);
        assert_eq!(message(&text), r#"configuration key "scale" is not usable: nothing can be divided by 0"#);
    }
    assert_eq!(
        message(r#"{"offset": 18446744073709551615, "scale": 1, "dtype": "<f4"}"#),
        r#"configuration key "offset" is not usable: 18446744073709551615 is too large"#
    );
    assert_eq!(
        FixedScaleOffset::from_params(&[4, 0, 0, 1, 0]).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: 4 is not within 0 to 3"#
    );
    assert_eq!(
        FixedScaleOffset::from_params(&[1, 0, 0x7ff0_0000, 1, 0]).unwrap_err().to_string(),
        r#"configuration key "cd_values[1]" is not usable: it is not a finite number"#
    );
}

#[test]
fn factors_that_the_types_cannot_hold_are_refused() {
    let message = |offset, scale, dtype: &str, astype: &str| {
        let codec = FixedScaleOffset { offset, scale, ..typed(dtype, astype) };
        let floats = Env { container: Container::ZarrV2, ..env(Dtype::little(Kind::Float, 8)) };
        codec.bind(&floats.chunk(), &floats).unwrap_err().to_string()
    };
    // Stored data can be read nevertheless.
    let encodes = |offset, scale, dtype: &str, astype: &str| {
        let codec = FixedScaleOffset { offset, scale, ..typed(dtype, astype) };
        let env = Env { container: Container::ZarrV2, ..env(Dtype::little(Kind::Float, 8)) };
        let coder = codec.bind(&env.chunk(), &env).unwrap().coder;
        let [mut stored, mut back] = [[0; 8]; 2];
        stored[0] = 15;
        assert!(coder.decode(&mut coder.scratch(), &stored, &mut back).is_ok(), "{dtype} {astype}");
        coder.encode(&mut coder.scratch(), &[1; 8], &mut [0; 64]).unwrap_err().to_string()
    };
    let one = Factor::Integer(1);
    assert_eq!(
        encodes(Factor::Integer(-10), one, "|u1", "<i8"),
        r#"configuration key "offset" is not usable: -10 is not a number of type |u1, in which numpy computes with it"#
    );
    assert_eq!(
        encodes(one, Factor::Float(1e-50), "<f4", "<f8"),
        r#"configuration key "scale" is not usable: 1e-50 becomes 0 as <f4, in which numpy computes with it"#
    );
    assert!(message(one, Factor::Integer(100_000), "<f8", "<f2").contains("becomes inf as <f2"));
}

#[test]
fn types_of_which_readers_of_zarr_v3_make_other_numbers_are_refused_there() {
    let little = Dtype::little;
    for (entering, codec, refusal) in [
        (little(Kind::Float, 8), typed(">f8", "<i4"), Some("dtype")),
        (little(Kind::Float, 8), typed("<f4", "<i4"), Some("dtype")),
        (little(Kind::Float, 4), typed("<i4", "<f8"), Some("dtype")),
        (little(Kind::Float, 8), typed("<f8", ">i4"), Some("astype")),
        (Dtype::big(Kind::Float, 8), UNTYPED, Some("elements")),
        (little(Kind::Float, 8), typed("<f8", "<i2"), None),
        (little(Kind::Float, 4), UNTYPED, None),
    ] {
        assert_eq!(v3_types::refused(&codec, entering).as_deref(), refusal, "{codec:?} of {entering:?}");
    }
}
