//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_cast_value::CastValue;
use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind, Number, Repr, Size};
use serde_json::{Value, json};

fn parse(config: &Value) -> Result<CastValue, String> {
    CastValue::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
        .map_err(|error| error.to_string())
}

#[test]
fn json_round_trips_and_the_words_mean_the_same() {
    for config in [
        json!({"data_type": "uint8"}),
        json!({"data_type": "float16", "rounding": "nearest-away", "out_of_range": "clamp"}),
        json!({"data_type": "int64", "rounding": "towards-positive", "out_of_range": "wrap"}),
        json!({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 0], [u64::MAX, 1], ["0x7fc00001", 2]]}}),
        json!({"data_type": "uint8", "scalar_map": {"encode": [[-1.5, 0]], "decode": [[0, "NaN"], [3, 0.1]]}}),
        json!({"data_type": "uint8", "scalar_map": {"decode": [[0, "-Infinity"]]}}),
    ] {
        let codec = parse(&config).unwrap();
        assert_eq!(Some(&codec.to_json(Dialect::ZarrV3).unwrap()), config.as_object());
        let words = codec.to_params().unwrap();
        let again = CastValue::from_params(&words).unwrap();
        assert_eq!(again.to_params().unwrap(), words);
        assert_eq!(Some(&again.to_json(Dialect::ZarrV3).unwrap()), config.as_object());
    }
    // Defaults that are written out, and the long form of a type.
    let long = json!({
        "data_type": {"name": "uint8", "configuration": {}}, "rounding": "nearest-even", "scalar_map": {}
    });
    assert_eq!(parse(&long), parse(&json!({"data_type": "uint8"})));
    assert_eq!(parse(&json!({"data_type": "uint8"})).unwrap().data_type, Number::from_v3("uint8").unwrap());
}

#[test]
fn the_working_words_make_the_same_coder() {
    let config =
        json!({"data_type": "int16", "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}});
    let dtype = Dtype::big(Kind::Float, 8);
    let env = Env { dtype, array_shape: vec![3], chunk_shape: vec![3], container: Container::ZarrV3 };
    let bound = parse(&config).unwrap().bind(&env.chunk(), &env).unwrap();
    let output = Repr::Array { dtype: Dtype::big(Kind::Int, 2), shape: vec![3], fill: None };
    assert_eq!(bound.output, output);
    let chunk = [5.5, f64::NAN, -7.0].map(f64::to_be_bytes);
    for coder in [bound.coder, CastValue::coder(&bound.working).unwrap()] {
        let mut stream = [0; 6];
        assert_eq!(coder.encode(&mut coder.scratch(), chunk.as_flattened(), &mut stream), Ok(6));
        assert_eq!(stream, [0, 6, 255, 255, 255, 249]);
    }
}

#[test]
fn wrong_configurations_are_refused_with_the_expected_form() {
    for (config, wanted) in [
        (json!({}), r#"key "data_type" is not usable: it is missing; types read here are int8"#),
        (json!({"data_type": "int4"}), r#""int4" is not a supported number type"#),
        (json!({"data_type": "<f4"}), r#""<f4" is not a supported number type"#),
        (json!({"data_type": "bool"}), r#""bool" is not a supported number type"#),
        (
            json!({"data_type": {"name": "uint8", "configuration": {"a": 1}}}),
            "is not a supported number type",
        ),
        (
            json!({"data_type": "uint8", "rounding": "up"}),
            r#"key "rounding" is not usable: "up" is none of nearest-even"#,
        ),
        (
            json!({"data_type": "uint8", "out_of_range": "none"}),
            r#"key "out_of_range" is not usable: "none" is none of clamp, wrap"#,
        ),
        (json!({"data_type": "uint8", "out_of_range": ""}), r#"key "out_of_range""#),
        (json!({"data_type": "float32", "out_of_range": "wrap"}), "float32 does not wrap around; use clamp"),
        (
            json!({"data_type": "uint8", "scalar_map": []}),
            r#"key "scalar_map" is not usable: expected an object"#,
        ),
        (json!({"data_type": "uint8", "scalar_map": {"both": []}}), r#"key "scalar_map.both""#),
        (
            json!({"data_type": "uint8", "scalar_map": {"encode": {}}}),
            r#"key "scalar_map.encode" is not usable: expected a list"#,
        ),
        (
            json!({"data_type": "uint8", "scalar_map": {"encode": [[1]]}}),
            r#"key "scalar_map.encode[0]" is not usable: expected a pair"#,
        ),
        (
            json!({"data_type": "uint8", "scalar_map": {"decode": [[1, 2], [true, 2]]}}),
            r#"key "scalar_map.decode[1]""#,
        ),
        (
            json!({"data_type": "uint8", "scalar_map": {"encode": vec![[1, 2]; 1025]}}),
            "1025 pairs are more than 1024",
        ),
        (
            json!({"data_type": "uint8", "astype": "uint8"}),
            r#"key "astype" is not usable: Zarr v3 defines no such key"#,
        ),
    ] {
        let error = parse(&config).unwrap_err();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    for words in [
        &[][..],
        &[0x38_753c, 0, 0, 0],
        &[0x31757c, 5, 0, 0, 0],
        &[0x31757c, 0, 3, 0, 0],
        &[0x31757c, 0, 0, 1, 0],
        &[0x31757c, 0, 0, u32::MAX, u32::MAX],
    ] {
        assert!(CastValue::from_params(words).is_err(), "{words:x?}");
    }
    let error = CastValue::from_json(
        Dialect::Numcodecs,
        json!({"data_type": "uint8"}).as_object().unwrap(),
        &mut Vec::new(),
    );
    assert!(error.unwrap_err().to_string().contains("no name in numcodecs; fixedscaleoffset"));
}

#[test]
fn numbers_of_the_map_are_of_the_types_and_inputs_are_numbers() {
    let dtype = Dtype::little(Kind::Float, 4);
    let env = Env { dtype, array_shape: vec![3], chunk_shape: vec![3], container: Container::ZarrV3 };
    for (config, wanted) in [
        (
            json!({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 256]]}}),
            r#"key "scalar_map.encode[0]" is not usable: 256 is not a number of type uint8, to which it maps"#,
        ),
        (
            json!({"data_type": "uint8", "scalar_map": {"encode": [[1e39, 1]]}}),
            "1e+39 is not a number of type float32, from which it maps",
        ),
        (
            json!({"data_type": "uint8", "scalar_map": {"decode": [["NaN", 1]]}}),
            r#"key "scalar_map.decode[0]" is not usable: "NaN" is not a number of type uint8, from which"#,
        ),
    ] {
        let error = parse(&config).unwrap().bind(&env.chunk(), &env).unwrap_err().to_string();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    let codec = parse(&json!({"data_type": "uint8"})).unwrap();
    let bytes = Repr::Bytes { size: Size::Exact(12) };
    for input in [
        bytes,
        Env { dtype: Dtype::little(Kind::Bool, 1), ..env.clone() }.chunk(),
        Env { dtype: Dtype::little(Kind::Complex, 8), ..env.clone() }.chunk(),
    ] {
        assert!(codec.bind(&input, &env).unwrap_err().to_string().starts_with("not supported: "));
    }
}
