//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use ncz_zstd::Zstd;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(dialect: Dialect, config: Value) -> (Result<Zstd>, Vec<String>) {
    let mut notes = Vec::new();
    let zstd = Zstd::from_json(dialect, config.as_object().unwrap(), &mut notes);
    (zstd, notes)
}

fn refusal(dialect: Dialect, config: Value) -> String {
    parse(dialect, config).0.unwrap_err().to_string()
}

fn env(container: Container) -> Env {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container }
}

#[test]
fn missing_keys_take_the_default_of_the_writer() {
    assert_eq!(parse(Dialect::Numcodecs, json!({})), (Ok(Zstd { level: 0, checksum: false }), vec![]));
    assert_eq!(parse(Dialect::ZarrV3, json!({})), (Ok(Zstd { level: 0, checksum: false }), vec![]));
    assert_eq!(Zstd::from_params(&[]), Ok(Zstd { level: 3, checksum: false }));
    assert_eq!(Zstd::default().to_params(), Ok(vec![3]));
}

#[test]
fn the_unsigned_word_of_a_negative_level_is_understood_in_v2() {
    let (zstd, notes) = parse(Dialect::Numcodecs, json!({"level": 4294967291_u32}));
    assert_eq!(zstd, Ok(Zstd { level: -5, checksum: false }));
    assert_eq!(notes, ["level 4294967291 interpreted as signed -5"]);
    assert_eq!(
        refusal(Dialect::ZarrV3, json!({"level": 4294967291_u32})),
        r#"configuration key "level" is not usable: 4294967291 is not within -131072 to 22"#
    );
}

#[test]
fn a_level_beyond_the_library_does_not_make_data_unreadable() {
    let (zstd, notes) = parse(Dialect::Numcodecs, json!({"level": 100}));
    assert_eq!(notes, ["level 100 is not within -131072 to 22; the nearest of these is used"]);
    let env = env(Container::ZarrV2);
    assert_eq!(zstd.unwrap().bind(&env.chunk(), &env).unwrap().stored.level, 22);
}

#[test]
fn wrong_input_is_named() {
    assert_eq!(
        refusal(Dialect::Numcodecs, json!({"level": "three"})),
        r#"configuration key "level" is not usable: expected an integer, got "three""#
    );
    assert_eq!(
        refusal(Dialect::Numcodecs, json!({"level": 1.5})),
        r#"configuration key "level" is not usable: expected an integer, got 1.5"#
    );
    assert_eq!(
        refusal(Dialect::ZarrV3, json!({"level": 3, "checksum": 1})),
        r#"configuration key "checksum" is not usable: expected true or false, got 1"#
    );
    assert_eq!(
        refusal(Dialect::ZarrV3, json!({"level": 3, "window": 1})),
        r#"configuration key "window" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        Zstd::from_params(&[1, 2]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: zstd takes 0 to 1 parameters, got 2"#
    );
    assert_eq!(
        Zstd { level: 3, checksum: true }.to_params().unwrap_err().to_string(),
        r#"configuration key "checksum" is not usable: parameter words cannot express a checksum; leave the key out"#
    );
}

#[test]
fn v2_metadata_name_the_checksum_only_where_there_is_one() {
    let json = |checksum| Value::Object(Zstd { level: 1, checksum }.to_json(Dialect::Numcodecs).unwrap());
    assert_eq!(json(false), json!({"level": 1}));
    assert_eq!(json(true), json!({"level": 1, "checksum": true}));
}

#[test]
fn one_word_is_stored_and_run_in_every_container() {
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = env(container);
        let bound = Zstd::from_params(&[]).unwrap().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [3]);
        assert_eq!(bound.stored.to_params(), Ok(vec![3]));
        let Ok(Size::AtMost(most)) = bound.output.size() else { panic!("{:?}", bound.output) };
        assert!((12288..13000).contains(&most), "{most}");
    }
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(level in -131072..=22_i32, checksum: bool) {
        let zstd = Zstd { level, checksum };
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let mut notes = Vec::new();
            prop_assert_eq!(Zstd::from_json(dialect, &zstd.to_json(dialect).unwrap(), &mut notes), Ok(zstd));
            prop_assert!(notes.is_empty());
        }
        let zstd = Zstd { level, checksum: false };
        prop_assert_eq!(Zstd::from_params(&zstd.to_params().unwrap()), Ok(zstd));
    }
}
