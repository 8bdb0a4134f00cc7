//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_astype::AsType;
#[path = "../../../shared/tests/v3_types.rs"]
mod v3_types;

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use serde_json::{Value, json};

fn astype(stored: &str, data: &str) -> AsType {
    AsType { encode_dtype: stored.parse().unwrap(), decode_dtype: Some(data.parse().unwrap()) }
}

fn parse(dialect: Dialect, config: Value) -> Result<AsType> {
    AsType::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV2 }
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for codec in [astype("<f8", "<i2"), astype("|u1", "|u1"), astype(">i4", "<f4")] {
        assert_eq!(AsType::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            assert_eq!(parse(dialect, Value::Object(codec.to_json(dialect).unwrap())), Ok(codec));
        }
    }
    assert_eq!(astype("<i4", "<i2").to_params(), Ok(vec![0x34_693c, 0x32_693c]));
}

#[test]
fn the_type_of_the_data_is_that_of_the_elements_where_zarr_v3_does_not_say() {
    let codec = parse(Dialect::ZarrV3, json!({"encode_dtype": "int16"})).unwrap();
    assert_eq!((codec.encode_dtype.to_string(), codec.decode_dtype), ("<i2".to_owned(), None));
    let doubles = env(Dtype::little(Kind::Float, 8));
    assert_eq!(codec.bind(&doubles.chunk(), &doubles).unwrap().stored, astype("<i2", "<f8"));
    let bytes = Repr::Bytes { size: Size::Exact(8) };
    let error = codec.bind(&bytes, &doubles).unwrap_err().to_string();
    assert_eq!(
        error,
        r#"configuration key "decode_dtype" is not usable: the number type is unknown; give it"#
    );
    assert!(codec.to_json(Dialect::Numcodecs).is_err());
    assert!(AsType::coder(&codec.to_params().unwrap()).is_err());
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(Dialect::Numcodecs, config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"encode_dtype": "<f4"})),
        r#"configuration key "decode_dtype" is not usable: it is missing; an example is {"encode_dtype": "<f4", "decode_dtype": "<f8"}"#
    );
    assert_eq!(
        message(json!({"encode_dtype": "|b1", "decode_dtype": "<f8"})),
        r#"configuration key "encode_dtype" is not usable: "|b1" is not a number type; these are i1, i2, i4, i8, u1, u2, u4, u8, f2, f4 and f8, with < or > before them for the byte order"#
    );
    assert_eq!(
        AsType::from_params(&[]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: astype takes 1 to 2 parameters, got 0"#
    );
}

#[test]
fn what_leaves_the_stage_is_of_the_stored_type() {
    let bind = |codec: AsType, input: &Repr, env: &Env| codec.bind(input, env).map(|bound| bound.output);
    let doubles = env(Dtype::little(Kind::Float, 8));
    let shorts = Dtype::little(Kind::Int, 2);
    assert_eq!(
        bind(astype("<i2", "<f8"), &doubles.chunk(), &doubles),
        Ok(Repr::Array { dtype: shorts, shape: vec![64, 48], fill: None })
    );
    let odd = Repr::Bytes { size: Size::Exact(13) };
    assert_eq!(
        bind(astype("<i2", "<i4"), &odd, &doubles).unwrap_err().to_string(),
        "not supported: 13 bytes are not whole numbers of type <i4"
    );
}

#[test]
fn types_of_which_readers_of_zarr_v3_make_other_numbers_are_refused_there() {
    let little = Dtype::little;
    for (entering, codec, refusal) in [
        (little(Kind::Float, 8), astype("<f4", ">f8"), Some("decode_dtype")),
        (little(Kind::Float, 8), astype("<f4", "<i8"), Some("decode_dtype")),
        (little(Kind::Int, 4), astype("<f4", "<i2"), Some("decode_dtype")),
        (little(Kind::Float, 8), astype(">f4", "<f8"), Some("encode_dtype")),
        (Dtype::big(Kind::Float, 8), astype("<f4", ">f8"), Some("elements")),
        (little(Kind::Float, 8), astype("<f4", "<f8"), None),
        (little(Kind::Int, 4), astype("|u1", "<i4"), None),
    ] {
        assert_eq!(v3_types::refused(&codec, entering).as_deref(), refusal, "{codec:?} of {entering:?}");
    }
}
