//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/v3_types.rs"]
mod v3_types;

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_quantize::Quantize;
use serde_json::{Value, json};

fn quantize(digits: i32, dtype: &str, astype: &str) -> Quantize {
    Quantize { digits, dtype: Some(dtype.parse().unwrap()), astype: Some(astype.parse().unwrap()) }
}

fn parse(dialect: Dialect, config: Value) -> Result<Quantize> {
    Quantize::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV3 }
}

const UNTYPED: Quantize = Quantize { digits: 2, dtype: None, astype: None };

#[test]
fn json_and_words_give_back_what_was_read() {
    for codec in [quantize(3, "<f8", "<f4"), quantize(-2, ">f2", ">f2")] {
        assert_eq!(Quantize::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            assert_eq!(parse(dialect, Value::Object(codec.to_json(dialect).unwrap())), Ok(codec));
        }
    }
    assert_eq!(quantize(-2, "<f4", "<f8").to_params(), Ok(vec![u32::MAX - 1, 0x34_663c, 0x38_663c]));
    assert_eq!(Quantize::from_params(&UNTYPED.to_params().unwrap()), Ok(UNTYPED));
}

#[test]
fn in_zarr_v3_a_missing_type_is_that_of_the_elements() {
    assert_eq!(parse(Dialect::ZarrV3, json!({"digits": 2})), Ok(UNTYPED));
    assert_eq!(Value::Object(UNTYPED.to_json(Dialect::ZarrV3).unwrap()), json!({"digits": 2}));
    let floats = env(Dtype::little(Kind::Float, 4));
    let bound = UNTYPED.bind(&floats.chunk(), &floats).unwrap();
    assert_eq!(bound.stored, quantize(2, "<f4", "<f4"));
    assert_eq!(bound.working, [2, 0x34_663c, 0x34_663c]);
    assert_eq!(bound.output, floats.chunk());
    let integers = env(Dtype::little(Kind::Int, 4));
    assert_eq!(
        UNTYPED.bind(&integers.chunk(), &integers).unwrap_err().to_string(),
        "not supported: <i4 is not a floating-point type"
    );
    let untyped = r#"configuration key "dtype" is not usable: the number type is unknown; give it"#;
    let bytes = Repr::Bytes { size: Size::Exact(8) };
    assert_eq!(UNTYPED.bind(&bytes, &floats).unwrap_err().to_string(), untyped);
    assert_eq!(Quantize::coder(&[2]).unwrap_err().to_string(), untyped);
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(Dialect::Numcodecs, config).unwrap_err().to_string();
    let missing = |key| {
        format!(
            r#"configuration key "{key}" is not usable: it is missing; an example is {{"digits": 3, "dtype": "<f8", "astype": "<f4"}}"#
        )
    };
    assert_eq!(message(json!({"dtype": "<f4"})), missing("digits"));
    assert_eq!(message(json!({"digits": 3})), missing("dtype"));
    assert_eq!(
        message(json!({"digits": 308, "dtype": "<f8"})),
        r#"configuration key "digits" is not usable: 308 is not within -308 to 307"#
    );
    assert_eq!(
        message(json!({"digits": 3, "dtype": "<f8", "astype": "<i4"})),
        r#"configuration key "astype" is not usable: <i4 is not a floating-point type"#
    );
    assert_eq!(
        Quantize::from_params(&[400]).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: digits 400 is not within -308 to 307"#
    );
    assert_eq!(
        Quantize::from_params(&[4, 0x34_693c]).unwrap_err().to_string(),
        r#"configuration key "cd_values[1]" is not usable: <i4 is not a floating-point type"#
    );
}

#[test]
fn digits_that_the_type_cannot_multiply_by_are_refused() {
    let floats = env(Dtype::little(Kind::Float, 4));
    let bind = |digits| quantize(digits, "<f4", "<f4").bind(&floats.chunk(), &floats).map(|_| ());
    assert_eq!(bind(38), Ok(()));
    assert_eq!(
        bind(39).unwrap_err().to_string(),
        r#"configuration key "digits" is not usable: 2^130, by which the numbers are multiplied, is not a <f4: numcodecs makes all numbers NaN"#
    );
    assert!(bind(-60).is_err());
}

#[test]
fn types_of_which_readers_of_zarr_v3_make_other_numbers_are_refused_there() {
    let little = Dtype::little;
    for (entering, codec, refusal) in [
        (little(Kind::Float, 8), quantize(1, ">f8", ">f8"), Some("dtype")),
        (little(Kind::Float, 8), quantize(1, "<f4", "<f4"), Some("dtype")),
        (little(Kind::Int, 4), quantize(1, "<f4", "<f4"), Some("dtype")),
        (little(Kind::Float, 8), quantize(1, "<f8", ">f8"), Some("astype")),
        (Dtype::big(Kind::Float, 8), UNTYPED, Some("elements")),
        (little(Kind::Float, 8), quantize(1, "<f8", "<f4"), None),
        (little(Kind::Float, 4), UNTYPED, None),
    ] {
        assert_eq!(v3_types::refused(&codec, entering).as_deref(), refusal, "{codec:?} of {entering:?}");
    }
}
