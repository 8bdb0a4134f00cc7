//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use my_delta8::Delta8;
use ncz_codec::{Codec, CodecConfig, CodecError, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use serde_json::{Value, json};

fn parse(dialect: Dialect, config: Value) -> (Result<Delta8>, Vec<String>) {
    let mut notes = Vec::new();
    let delta = Delta8::from_json(dialect, config.as_object().unwrap(), &mut notes);
    (delta, notes)
}

#[test]
fn json_and_words_say_the_same() {
    for distance in [1, 4, 255] {
        let delta = Delta8::new(distance).unwrap();
        assert_eq!(Delta8::from_params(&delta.to_params().unwrap()), Ok(delta));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = json!({"distance": distance});
            assert_eq!(delta.to_json(dialect).as_ref(), Ok(json.as_object().unwrap()));
            assert_eq!(parse(dialect, json), (Ok(delta), vec![]));
        }
    }
}

#[test]
fn a_missing_distance_is_one() {
    assert_eq!(parse(Dialect::Numcodecs, json!({})), (Delta8::new(1), vec![]));
    assert_eq!(Delta8::from_params(&[]), Delta8::new(1));
}

#[test]
fn wrong_input_is_named() {
    for (distance, key, detail) in [
        (json!(0), "distance", "0 is not within 1 to 255"),
        (json!(256), "distance", "256 is not within 1 to 255"),
        (json!(1.5), "distance", "expected an integer, got 1.5"),
    ] {
        let (refused, _) = parse(Dialect::Numcodecs, json!({"distance": distance}));
        assert_eq!(refused, Err(CodecError::config(key, detail)));
    }
    for (words, key, detail) in [
        (&[0][..], "cd_values[0]", "distance 0 is not within 1 to 255"),
        (&[256], "cd_values[0]", "distance 256 is not within 1 to 255"),
        (&[1, 1], "cd_values", "my-delta8 takes 0 to 1 parameters, got 2"),
    ] {
        assert_eq!(Delta8::from_params(words), Err(CodecError::config(key, detail)));
        assert!(Delta8::coder(words).is_err());
    }
}

#[test]
fn an_unknown_key_is_a_note_in_v2_and_an_error_in_v3() {
    let config = json!({"distance": 2, "level": 9});
    let (delta, notes) = parse(Dialect::Numcodecs, config.clone());
    assert_eq!((delta, notes.len()), (Delta8::new(2), 1));
    assert!(parse(Dialect::ZarrV3, config).0.is_err());
}

#[test]
fn a_chunk_gets_8_bytes_longer() {
    let dtype = Dtype::little(Kind::Float, 4);
    let env = Env { dtype, array_shape: vec![100], chunk_shape: vec![10], container: Container::NczarrV2 };
    let delta = Delta8::new(4).unwrap();
    for (before, after) in [(Size::AtMost(5), Size::AtMost(13)), (Size::Unknown, Size::Unknown)] {
        let bound = delta.bind(&Repr::Bytes { size: before }, &env).unwrap();
        assert_eq!(bound.output, Repr::Bytes { size: after });
    }
    assert!(delta.bind(&Repr::Bytes { size: Size::Exact(usize::MAX) }, &env).is_err());
    let bound = delta.bind(&env.chunk(), &env).unwrap();
    assert_eq!((bound.stored, bound.working), (delta, vec![4]));
    assert_eq!(bound.output, Repr::Bytes { size: Size::Exact(48) });
}
