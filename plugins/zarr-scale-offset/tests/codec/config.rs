//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind, Repr, Size};
use ncz_zarr_scale_offset::ScaleOffset;
use serde_json::{Value, json};

fn parse(config: &Value) -> Result<ScaleOffset, String> {
    ScaleOffset::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
        .map_err(|error| error.to_string())
}

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![3], chunk_shape: vec![3], container: Container::ZarrV3 }
}

#[test]
fn json_round_trips_and_the_words_mean_the_same() {
    for config in [
        json!({}),
        json!({"offset": 5, "scale": 0.1}),
        json!({"offset": u64::MAX}),
        json!({"scale": "0x3f800000"}),
        json!({"offset": -10.0}),
    ] {
        let codec = parse(&config).unwrap();
        assert_eq!(Some(&codec.to_json(Dialect::ZarrV3).unwrap()), config.as_object());
        let words = codec.to_params().unwrap();
        let again = ScaleOffset::from_params(&words).unwrap();
        assert_eq!(again.to_params().unwrap(), words);
        for key in ["offset", "scale"] {
            let said =
                config.get(key).is_none_or(|value| again.to_json(Dialect::ZarrV3).unwrap()[key] == *value);
            assert!(said, "{config}");
        }
    }
}

#[test]
fn the_working_words_make_the_same_coder() {
    let env = env(Dtype::big(Kind::Int, 2));
    for (config, stored) in [(json!({"offset": 5, "scale": -2}), [0xff, 0xfe]), (json!({}), [0, 6])] {
        let bound = parse(&config).unwrap().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.output, env.chunk());
        for coder in [bound.coder, ScaleOffset::coder(&bound.working).unwrap()] {
            let mut stream = [0; 2];
            assert_eq!(coder.encode(&mut (), &[0, 6], &mut stream), Ok(2));
            assert_eq!(stream, stored);
        }
    }
    assert!(ScaleOffset::coder(&[]).is_err());
    assert!(ScaleOffset::coder(&[1, 2, 3]).is_err());
}

#[test]
fn wrong_configurations_are_refused_with_the_expected_form() {
    for (config, wanted) in [
        (json!({"offset": "5"}), r#"key "offset" is not usable: "5" is not a number"#),
        (json!({"scale": [1]}), r#"key "scale" is not usable: expected a number, got [1]"#),
        (json!({"astype": "uint8"}), r#"key "astype" is not usable: Zarr v3 defines no such key"#),
    ] {
        let error = parse(&config).unwrap_err();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    let (short, single) = (Dtype::little(Kind::UInt, 1), Dtype::little(Kind::Float, 4));
    for (config, dtype, wanted) in [
        (json!({"offset": -1}), short, r#"key "offset" is not usable: -1 is not a number of type uint8"#),
        (json!({"scale": 0.1}), short, r#"key "scale" is not usable: 0.1 is not a number of type uint8"#),
        (json!({"scale": 0}), short, r#"key "scale" is not usable: nothing can be divided by 0"#),
        (json!({"scale": 0.0}), single, r#"key "scale" is not usable: 0.0 is 0 as float32"#),
        (json!({"scale": 1e-50}), single, "1e-50 is 0 as float32"),
        (json!({"scale": "NaN"}), single, r#""NaN" is not a finite number of type float32"#),
        (json!({"offset": 1e39}), single, "1e+39 is not a finite number of type float32"),
        (json!({"offset": "0x3c00"}), single, r#""0x3c00" is not a finite number of type float32"#),
    ] {
        let env = env(dtype);
        let error = parse(&config).unwrap().bind(&env.chunk(), &env).unwrap_err().to_string();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    assert!(ScaleOffset::from_params(&[0, 5]).unwrap_err().to_string().contains("takes 0 parameters, got 2"));
    assert!(ScaleOffset::from_params(&[9, 0, 0, 0, 1, 0]).unwrap_err().to_string().contains("cd_values[0]"));
    let error = ScaleOffset::from_json(Dialect::Numcodecs, &Default::default(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no name in numcodecs; fixedscaleoffset"));
}

#[test]
fn only_numbers_are_taken() {
    let codec = parse(&json!({})).unwrap();
    let env = env(Dtype::little(Kind::Float, 4));
    let bytes = Repr::Bytes { size: Size::Exact(12) };
    for input in [
        bytes,
        self::env(Dtype::little(Kind::Bool, 1)).chunk(),
        self::env(Dtype::little(Kind::Complex, 8)).chunk(),
    ] {
        assert!(codec.bind(&input, &env).unwrap_err().to_string().starts_with("not supported: "));
    }
}
