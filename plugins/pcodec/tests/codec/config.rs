//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_pcodec::{Delta, Mode, Pcodec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(config: Value) -> Result<Pcodec> {
    Pcodec::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

fn env(kind: Kind, size: usize, order: ByteOrder) -> Env {
    let dtype = Dtype { kind, size, order };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV2 }
}

#[test]
fn missing_keys_and_words_take_the_defaults_of_numcodecs() {
    assert_eq!(parse(json!({})), Ok(Pcodec::default()));
    assert_eq!(Pcodec::from_params(&[]), Ok(Pcodec::default()));
    assert_eq!(
        serde_json::to_string(&Pcodec::default().to_json(Dialect::Numcodecs).unwrap()).unwrap(),
        r#"{"level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to","delta_encoding_order":null,"equal_pages_up_to":262144}"#
    );
    assert_eq!(
        serde_json::to_string(&Pcodec::default().to_json(Dialect::ZarrV3).unwrap()).unwrap(),
        r#"{"level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to","equal_pages_up_to":262144}"#
    );
}

#[test]
fn the_working_words_name_the_type_of_the_numbers() {
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = Env { container, ..env(Kind::Float, 8, ByteOrder::Little) };
        let bound = Pcodec::default().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.stored, Pcodec::default());
        assert_eq!(bound.working, [8, 0, 0, u32::MAX, 1 << 18, 6]);
        let Ok(Size::AtMost(most)) = bound.output.size() else { panic!("{:?}", bound.output) };
        assert!((24576..24800).contains(&most), "{most}");
    }
    // The input of the stage is used, not the variable.
    let env = env(Kind::Float, 8, ByteOrder::Little);
    let delta = Repr::Array { dtype: Dtype::little(Kind::Int, 2), shape: vec![64, 48], fill: None };
    assert_eq!(Pcodec::default().bind(&delta, &env).unwrap().working[5], 8);
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"level": 13})),
        r#"configuration key "level" is not usable: 13 is not within 0 to 12"#
    );
    assert_eq!(
        message(json!({"mode_spec": "try_dict"})),
        r#"configuration key "mode_spec" is not usable: "try_dict" is none of auto, classic"#
    );
    assert_eq!(
        message(json!({"delta_spec": 1})),
        r#"configuration key "delta_spec" is not usable: expected a string, got 1"#
    );
    assert_eq!(
        message(json!({"paging_spec": "exact"})),
        r#"configuration key "paging_spec" is not usable: "exact" is not "equal_pages_up_to""#
    );
    assert_eq!(
        message(json!({"equal_pages_up_to": 0})),
        r#"configuration key "equal_pages_up_to" is not usable: 0 is not within 1 to 4294967295"#
    );
    assert_eq!(
        message(json!({"delta_spec": "try_consecutive"})),
        r#"configuration key "delta_encoding_order" is not usable: "try_consecutive" needs an order from 0 to 7"#
    );
    assert_eq!(
        message(json!({"delta_spec": "none", "delta_encoding_order": 1})),
        r#"configuration key "delta_encoding_order" is not usable: an order is for "try_consecutive" only"#
    );
    let message = |words: &[u32]| Pcodec::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[0; 6]),
        r#"configuration key "cd_values" is not usable: pcodec takes 0 to 5 parameters, got 6"#
    );
    assert_eq!(message(&[13]), r#"configuration key "cd_values[0]" is not usable: 13 is not within 0 to 12"#);
    assert_eq!(message(&[8, 2]), r#"configuration key "cd_values[1]" is not usable: 2 is not within 0 to 1"#);
    assert_eq!(
        message(&[8, 0, 4]),
        r#"configuration key "cd_values[2]" is not usable: 4 is not within 0 to 3"#
    );
    assert_eq!(
        message(&[8, 0, 0, 8]),
        r#"configuration key "cd_values[3]" is not usable: 8 is not within 0 to 7"#
    );
    assert_eq!(
        message(&[8, 0, 0, 1, 0]),
        r#"configuration key "cd_values[4]" is not usable: a page holds at least one number"#
    );
    assert_eq!(
        Pcodec::coder(&[8, 0, 0, 1, 9, 10]).unwrap_err().to_string(),
        r#"configuration key "cd_values[5]" is not usable: no type has the number 10"#
    );
}

#[test]
fn what_numcodecs_does_not_take_is_refused_by_name() {
    let message = |env: &Env, input: &Repr| Pcodec::default().bind(input, env).unwrap_err().to_string();
    for (kind, size) in [(Kind::UInt, 1), (Kind::Bool, 1), (Kind::Complex, 8), (Kind::Opaque, 4)] {
        let env = env(kind, size, ByteOrder::Little);
        assert_eq!(
            message(&env, &env.chunk()),
            format!(
                "not supported: pcodec takes integers and floating-point numbers of 2, 4 or 8 bytes, not {kind:?} of {size}"
            )
        );
    }
    let big = env(Kind::Int, 4, ByteOrder::Big);
    assert_eq!(
        message(&big, &big.chunk()),
        "not supported: pcodec takes little-endian numbers only, also in numcodecs; let the variable be little-endian"
    );
    assert_eq!(
        message(&env(Kind::Int, 4, ByteOrder::Little), &Repr::Bytes { size: Size::Exact(400) }),
        "not supported: pcodec takes numbers, not bytes; put it first, or after codecs that return numbers"
    );
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(
        level in 0..=12_u32,
        classic: bool,
        (delta, order) in prop_oneof![
            (Just(Delta::Auto), proptest::option::of(0..=7_u32)),
            (Just(Delta::None), Just(None)),
            (Just(Delta::Consecutive), (0..=7_u32).prop_map(Some)),
            (Just(Delta::Lookback), Just(None)),
        ],
        page in 1..=u32::MAX,
    ) {
        let mode = if classic { Mode::Classic } else { Mode::Auto };
        let pcodec = Pcodec { level, mode, delta, order, page };
        prop_assert_eq!(Pcodec::from_params(&pcodec.to_params().unwrap()), Ok(pcodec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let mut notes = Vec::new();
            let json = pcodec.to_json(dialect).unwrap();
            prop_assert_eq!(Pcodec::from_json(dialect, &json, &mut notes), Ok(pcodec));
            prop_assert!(notes.is_empty());
        }
    }
}
