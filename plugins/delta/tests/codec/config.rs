//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/v3_types.rs"]
mod v3_types;

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_delta::Delta;
use serde_json::{Value, json};

fn delta(dtype: &str, astype: &str) -> Delta {
    Delta { dtype: dtype.parse().unwrap(), astype: astype.parse().unwrap() }
}

fn parse(dialect: Dialect, config: Value) -> Result<Delta> {
    Delta::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV2 }
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for codec in [delta("<f8", "<i2"), delta("|u1", "|u1"), delta(">i4", "<f4")] {
        assert_eq!(Delta::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            assert_eq!(parse(dialect, Value::Object(codec.to_json(dialect).unwrap())), Ok(codec));
        }
    }
    assert_eq!(delta("<i4", "<i2").to_params(), Ok(vec![0x34_693c, 0x32_693c]));
    assert_eq!(Delta::from_params(&[0x34_693c]), Ok(delta("<i4", "<i4")));
}

#[test]
fn the_differences_are_of_the_type_of_the_data_unless_said() {
    assert_eq!(parse(Dialect::Numcodecs, json!({"dtype": ">i4"})), Ok(delta(">i4", ">i4")));
    assert_eq!(parse(Dialect::Numcodecs, json!({"dtype": "<i4", "astype": null})), Ok(delta("<i4", "<i4")));
    // as zarr-python writes what a user gave
    assert_eq!(parse(Dialect::ZarrV3, json!({"dtype": "uint32"})), Ok(delta("<u4", "<u4")));
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(Dialect::Numcodecs, config).unwrap_err().to_string();
    assert_eq!(
        message(json!({})),
        r#"configuration key "dtype" is not usable: it is missing; an example is {"dtype": "<i4", "astype": "<i2"}"#
    );
    assert_eq!(
        message(json!({"dtype": "|b1"})),
        r#"configuration key "dtype" is not usable: "|b1" is not a number type; these are i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 and f8, with < or > before them for the byte order"#
    );
    assert_eq!(
        message(json!({"dtype": "<i4", "astype": "|i2"})),
        r#"configuration key "astype" is not usable: "|i2" does not state its byte order"#
    );
    assert_eq!(
        message(json!({"dtype": 4})),
        r#"configuration key "dtype" is not usable: expected a number type such as "<f4", got 4"#
    );
    assert_eq!(
        Delta::from_params(&[]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: delta takes 1 to 2 parameters, got 0"#
    );
    assert_eq!(
        Delta::coder(&[0x34_693c, 7]).unwrap_err().to_string().split(':').next().unwrap(),
        r#"configuration key "cd_values[1]" is not usable"#
    );
}

#[test]
fn what_leaves_the_stage_is_of_the_type_of_the_differences() {
    let bind = |codec: Delta, input: &Repr, env: &Env| codec.bind(input, env).map(|bound| bound.output);
    let doubles = env(Dtype::little(Kind::Float, 8));
    let array = |dtype, shape| Repr::Array { dtype, shape, fill: None };
    let shorts = Dtype::little(Kind::Int, 2);
    assert_eq!(bind(delta("<f8", "<i2"), &doubles.chunk(), &doubles), Ok(array(shorts, vec![64, 48])));
    // Chunks are read as numbers of the codec's type, like a numpy view.
    assert_eq!(bind(delta("<i4", "<i2"), &doubles.chunk(), &doubles), Ok(array(shorts, vec![6144])));
    let bytes = |size| Repr::Bytes { size };
    let of = |size| bind(delta("<i4", "<i2"), &bytes(size), &doubles);
    assert_eq!(of(Size::Exact(12)), Ok(array(shorts, vec![3])));
    assert_eq!(of(Size::AtMost(15)), Ok(bytes(Size::AtMost(6))));
    assert_eq!(of(Size::Unknown), Ok(bytes(Size::Unknown)));
    assert_eq!(
        of(Size::Exact(13)).unwrap_err().to_string(),
        "not supported: 13 bytes are not whole numbers of type <i4"
    );
    let letters = env(Dtype::little(Kind::Opaque, 5));
    let odd = Repr::Array { dtype: letters.dtype, shape: vec![3], fill: None };
    assert!(bind(delta("<i4", "<i4"), &odd, &letters).is_err());
}

#[test]
fn types_of_which_readers_of_zarr_v3_make_other_numbers_are_refused_there() {
    let little = Dtype::little;
    for (entering, codec, refusal) in [
        (little(Kind::Int, 4), delta(">i4", ">i4"), Some("dtype")),
        (little(Kind::Int, 4), delta("<u4", "<u4"), Some("dtype")),
        (little(Kind::Float, 4), delta("<i4", "<i4"), Some("dtype")),
        (little(Kind::Float, 8), delta("<f4", "<f4"), Some("dtype")),
        (little(Kind::Int, 4), delta("<i4", ">i2"), Some("astype")),
        (Dtype::big(Kind::Int, 4), delta(">i4", "<i4"), Some("elements")),
        (little(Kind::Int, 4), delta("<i4", "<i2"), None),
        (little(Kind::Float, 8), delta("<f8", "<f8"), None),
        (Dtype::big(Kind::UInt, 1), delta("|u1", "|i1"), None),
    ] {
        assert_eq!(v3_types::refused(&codec, entering).as_deref(), refusal, "{codec:?} of {entering:?}");
    }
}
