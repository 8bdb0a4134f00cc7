//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_bzip2::Bzip2;
use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use serde_json::{Value, json};

fn parse(config: Value) -> Result<Bzip2> {
    Bzip2::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn missing_levels_take_the_default_of_the_writer() {
    assert_eq!(parse(json!({})), Ok(Bzip2 { level: 1 }));
    assert_eq!(Bzip2::from_params(&[]), Ok(Bzip2 { level: 9 }));
}

#[test]
fn one_word_is_stored_and_run_in_every_container() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
        let bound = Bzip2 { level: 3 }.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.stored, Bzip2 { level: 3 });
        assert_eq!(bound.working, [3]);
        assert_eq!(bound.output.size(), Ok(Size::AtMost(12288 + 123 + 600)));
    }
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"level": 10})),
        r#"configuration key "level" is not usable: 10 is not within 1 to 9"#
    );
    assert_eq!(
        message(json!({"level": [4]})),
        r#"configuration key "level" is not usable: expected an integer, got [4]"#
    );
    let message = |words| Bzip2::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[1, 2]),
        r#"configuration key "cd_values" is not usable: bzip2 takes 0 to 1 parameters, got 2"#
    );
    assert_eq!(
        message(&[0]),
        r#"configuration key "cd_values[0]" is not usable: block size 0 is not within 1 to 9"#
    );
    assert_eq!(
        Bzip2 { level: 12 }.to_params().unwrap_err().to_string(),
        r#"configuration key "level" is not usable: block size 12 is not within 1 to 9"#
    );
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for level in 1..=9 {
        let deflate = Bzip2 { level };
        assert_eq!(Bzip2::from_params(&deflate.to_params().unwrap()), Ok(deflate));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = deflate.to_json(dialect).unwrap();
            assert_eq!(Value::Object(json.clone()), json!({"level": level}));
            assert_eq!(Bzip2::from_json(dialect, &json, &mut Vec::new()), Ok(deflate));
        }
    }
}
