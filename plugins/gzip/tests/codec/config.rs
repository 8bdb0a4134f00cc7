//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use ncz_gzip::Gzip;
use serde_json::{Value, json};

fn parse(config: Value) -> Result<Gzip> {
    Gzip::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn missing_and_negative_levels_mean_what_others_take_them_for() {
    assert_eq!(parse(json!({})), Ok(Gzip { level: 1 }));
    assert_eq!(parse(json!({"level": -1})), Ok(Gzip { level: -1 }));
    assert_eq!(Gzip { level: -1 }.to_params(), Ok(vec![6]));
    let v3 = |config: Value, notes: &mut Vec<String>| {
        Gzip::from_json(Dialect::ZarrV3, config.as_object().unwrap(), notes)
    };
    let mut notes = Vec::new();
    assert_eq!(v3(json!({}), &mut notes), Ok(Gzip { level: 5 }));
    assert_eq!(notes, ["level is missing, which tensorstore refuses; 5 is used"]);
    // zarr-python and tensorstore refuse all of these too.
    for config in
        [json!({"level": -1}), json!({"level": 10}), json!({"level": "5"}), json!({"level": 5, "id": "gzip"})]
    {
        assert!(v3(config.clone(), &mut notes).is_err(), "{config}");
    }
    assert_eq!(Value::Object(Gzip { level: -1 }.to_json(Dialect::ZarrV3).unwrap()), json!({"level": 6}));
}

#[test]
fn stored_levels_are_plain() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
        let bound = Gzip { level: -1 }.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.stored, Gzip { level: 6 });
        assert_eq!(bound.working, [6]);
        let Ok(Size::AtMost(most)) = bound.output.size() else { panic!("{:?}", bound.output) };
        assert!((12288..12400).contains(&most), "{most}");
    }
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"level": 10})),
        r#"configuration key "level" is not usable: 10 is not within -1 to 9"#
    );
    assert_eq!(
        message(json!({"level": [4]})),
        r#"configuration key "level" is not usable: expected an integer, got [4]"#
    );
    let message = |words| Gzip::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[]),
        r#"configuration key "cd_values" is not usable: gzip takes 1 parameters, got 0"#
    );
    assert_eq!(
        message(&[10]),
        r#"configuration key "cd_values[0]" is not usable: level 10 is not within 0 to 9"#
    );
    assert_eq!(
        Gzip { level: 12 }.to_params().unwrap_err().to_string(),
        r#"configuration key "level" is not usable: 12 is not within -1 to 9"#
    );
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for level in 0..=9 {
        let gzip = Gzip { level };
        assert_eq!(Gzip::from_params(&gzip.to_params().unwrap()), Ok(gzip));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = gzip.to_json(dialect).unwrap();
            assert_eq!(Value::Object(json.clone()), json!({"level": level}));
            assert_eq!(Gzip::from_json(dialect, &json, &mut Vec::new()), Ok(gzip));
        }
    }
}
