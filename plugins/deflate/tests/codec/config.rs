//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use ncz_deflate::Deflate;
use serde_json::{Value, json};

fn parse(config: Value) -> Result<Deflate> {
    Deflate::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn missing_and_negative_levels_mean_what_numcodecs_and_zlib_mean() {
    assert_eq!(parse(json!({})), Ok(Deflate { level: 1 }));
    assert_eq!(parse(json!({"level": -1})), Ok(Deflate { level: -1 }));
    assert_eq!(Deflate { level: -1 }.to_params(), Ok(vec![6]));
}

#[test]
fn stored_levels_are_such_as_netcdf_reads() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
        let bound = Deflate { level: -1 }.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.stored, Deflate { level: 6 });
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
    let message = |words| Deflate::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[]),
        r#"configuration key "cd_values" is not usable: deflate takes 1 parameters, got 0"#
    );
    assert_eq!(
        message(&[10]),
        r#"configuration key "cd_values[0]" is not usable: level 10 is not within 0 to 9"#
    );
    assert_eq!(
        Deflate { level: 12 }.to_params().unwrap_err().to_string(),
        r#"configuration key "level" is not usable: 12 is not within -1 to 9"#
    );
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for level in 0..=9 {
        let deflate = Deflate { level };
        assert_eq!(Deflate::from_params(&deflate.to_params().unwrap()), Ok(deflate));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = deflate.to_json(dialect).unwrap();
            assert_eq!(Value::Object(json.clone()), json!({"level": level}));
            assert_eq!(Deflate::from_json(dialect, &json, &mut Vec::new()), Ok(deflate));
        }
    }
}
