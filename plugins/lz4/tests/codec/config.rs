//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_lz4::Lz4;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(dialect: Dialect, config: Value) -> Result<Lz4> {
    let mut notes = Vec::new();
    let lz4 = Lz4::from_json(dialect, config.as_object().unwrap(), &mut notes);
    assert!(notes.is_empty(), "{notes:?}");
    lz4
}

fn env() -> Env {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::ZarrV2 }
}

#[test]
fn a_missing_key_and_a_missing_word_mean_1() {
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        assert_eq!(parse(dialect, json!({})), Ok(Lz4::default()));
    }
    assert_eq!(Lz4::from_params(&[]), Ok(Lz4 { acceleration: 1 }));
    assert_eq!(Lz4::default().to_params(), Ok(vec![1]));
}

#[test]
fn wrong_input_is_named() {
    let message = |dialect, config| parse(dialect, config).unwrap_err().to_string();
    assert_eq!(
        message(Dialect::Numcodecs, json!({"acceleration": 1.5})),
        r#"configuration key "acceleration" is not usable: expected an integer, got 1.5"#
    );
    assert_eq!(
        message(Dialect::ZarrV3, json!({"acceleration": 3_000_000_000_u32})),
        r#"configuration key "acceleration" is not usable: 3000000000 is not within -2147483648 to 2147483647"#
    );
    assert_eq!(
        message(Dialect::ZarrV3, json!({"level": 1})),
        r#"configuration key "level" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        Lz4::from_params(&[1, 2]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: lz4 takes 0 to 1 parameters, got 2"#
    );
}

#[test]
fn the_size_is_bounded_and_what_no_block_holds_is_refused() {
    let size = |input: Repr| Lz4::default().bind(&input, &env()).map(|bound| bound.output.size().unwrap());
    let Ok(Size::AtMost(most)) = size(env().chunk()) else { panic!() };
    assert!((12288..12400).contains(&most), "{most}");
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(1 << 31) }), Ok(Size::Unknown));
    assert_eq!(
        size(Repr::Bytes { size: Size::Exact(1 << 31) }).unwrap_err().to_string(),
        "not supported: 2147483648 bytes are more than lz4 takes at once"
    );
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(acceleration: i32) {
        let lz4 = Lz4 { acceleration };
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            prop_assert_eq!(parse(dialect, Value::Object(lz4.to_json(dialect).unwrap())), Ok(lz4));
        }
        prop_assert_eq!(Lz4::from_params(&lz4.to_params().unwrap()), Ok(lz4));
    }
}
