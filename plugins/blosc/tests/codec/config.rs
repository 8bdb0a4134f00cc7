//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_blosc::{Blosc, Compressor, Shuffle};
use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use proptest::prelude::*;
use serde_json::{Value, json};

const AUTO: u32 = -1_i32 as u32;

fn parse(dialect: Dialect, config: Value) -> (Result<Blosc>, Vec<String>) {
    let mut notes = Vec::new();
    let blosc = Blosc::from_json(dialect, config.as_object().unwrap(), &mut notes);
    (blosc, notes)
}

fn refusal(dialect: Dialect, config: Value) -> String {
    parse(dialect, config).0.unwrap_err().to_string()
}

fn env(kind: Kind, size: usize, container: Container) -> Env {
    let dtype = Dtype::little(kind, size);
    Env { dtype, array_shape: vec![1000, 777], chunk_shape: vec![64, 48], container }
}

/// The words that an HDF5 file gets, for the words that a user gave.
fn hdf5(kind: Kind, size: usize, words: &[u32]) -> Vec<u32> {
    let env = env(kind, size, Container::Hdf5);
    Blosc::from_params(words).unwrap().bind(&env.chunk(), &env).unwrap().working
}

#[test]
fn hdf5_gets_the_words_that_its_own_plugin_stores() {
    // As measured with hdf5plugin 7.1.0 and HDF5 2.0.0.
    assert_eq!(hdf5(Kind::Float, 4, &[]), [2, 2, 4, 12288]);
    assert_eq!(hdf5(Kind::Float, 8, &[]), [2, 2, 8, 24576]);
    assert_eq!(hdf5(Kind::Int, 2, &[]), [2, 2, 2, 6144]);
    assert_eq!(hdf5(Kind::UInt, 1, &[]), [2, 2, 1, 3072]);
    assert_eq!(hdf5(Kind::Opaque, 5, &[]), [2, 2, 5, 15360]);
    assert_eq!(hdf5(Kind::Float, 4, &[0, 0, 0, 0, 9]), [2, 2, 4, 12288, 9]);
    assert_eq!(hdf5(Kind::Int, 2, &[0, 0, 0, 0, 5, 1, 1]), [2, 2, 2, 6144, 5, 1, 1]);
    // Elements that are too large count as bytes.
    assert_eq!(hdf5(Kind::Opaque, 300, &[]), [2, 2, 1, 921_600]);
}

#[test]
fn missing_values_take_the_default_of_the_writer() {
    let json = Blosc { cname: Compressor::Lz4, clevel: 5, shuffle: Shuffle::Byte, ..Blosc::default() };
    assert_eq!(parse(Dialect::Numcodecs, json!({})), (Ok(json), vec![]));
    let words = Blosc { cname: Compressor::BloscLz, words: 0, ..json };
    assert_eq!(Blosc::from_params(&[]), Ok(words));
}

#[test]
fn words_that_hdf5_stored_ask_for_no_block_size() {
    assert_eq!(Blosc::from_params(&[2, 2, 4, 12288, 9, 2, 5]).unwrap().blocksize, 0);
    assert_eq!(Blosc::from_params(&[0, 0, 4, 12288, 9, 2, 5]).unwrap().blocksize, 0);
    assert_eq!(Blosc::from_params(&[0, 0, 0, 4096, 9, 2, 5]).unwrap().blocksize, 4096);
}

#[test]
fn nczarr_gets_seven_words_and_the_true_element_size() {
    let env = env(Kind::Float, 8, Container::NczarrV2);
    let blosc = Blosc::from_params(&[0, 0, 0, 4096, 3, AUTO, 5]).unwrap();
    let bound = blosc.bind(&env.chunk(), &env).unwrap();
    assert_eq!(bound.working, [2, 2, 8, 24576, 3, 1, 5]);
    assert_eq!(bound.stored.to_params(), Ok(vec![0, 0, 0, 4096, 3, 1, 5]));
    assert_eq!(bound.output.size(), Ok(Size::AtMost(24576 + 16)));
    // The input of the stage is used, not the variable.
    let delta = Repr::Array { dtype: Dtype::little(Kind::Int, 2), shape: vec![64, 48], fill: None };
    assert_eq!(blosc.bind(&delta, &env).unwrap().working, [2, 2, 2, 6144, 3, 1, 5]);
    let delta = Repr::Array { dtype: Dtype::little(Kind::Int, 1), shape: vec![64, 48], fill: None };
    assert_eq!(blosc.bind(&delta, &env).unwrap().working, [2, 2, 1, 3072, 3, 2, 5]);
}

#[test]
fn automatic_shuffle_of_netcdf_and_stray_sizes_are_understood_in_v2() {
    let (blosc, notes) = parse(Dialect::Numcodecs, json!({"shuffle": 4294967295_u32, "typesize": 4}));
    assert_eq!(blosc.unwrap().shuffle, Shuffle::Auto);
    assert_eq!(notes, ["shuffle 4294967295 interpreted as signed -1"]);
}

#[test]
fn zarr_v3_has_a_schema_of_its_own() {
    let json = json!({
        "cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0
    });
    let (blosc, notes) = parse(Dialect::ZarrV3, json.clone());
    let blosc = blosc.unwrap();
    assert_eq!((blosc.shuffle, blosc.typesize), (Shuffle::Bit, Some(4)));
    assert_eq!(Value::Object(blosc.to_json(Dialect::ZarrV3).unwrap()), json);
    assert!(notes.is_empty());
    let (blosc, notes) = parse(Dialect::ZarrV3, json!({"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}));
    assert_eq!(notes, ["typesize is missing; that of the elements is used"]);
    let env = env(Kind::Float, 8, Container::ZarrV3);
    let stored = blosc.unwrap().bind(&env.chunk(), &env).unwrap().stored;
    assert_eq!(
        Value::Object(stored.to_json(Dialect::ZarrV3).unwrap()),
        json!({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 8, "blocksize": 0})
    );
    // c-blosc takes larger elements for single bytes, and tensorstore refuses their size.
    let env = self::env(Kind::Opaque, 320, Container::ZarrV3);
    let stored = Blosc::default().bind(&env.chunk(), &env).unwrap().stored;
    assert_eq!(stored.to_json(Dialect::ZarrV3).unwrap()["typesize"], json!(1));
    let plain = Blosc { shuffle: Shuffle::None, ..Blosc::default() };
    assert_eq!(
        Value::Object(plain.to_json(Dialect::ZarrV3).unwrap()),
        json!({"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "blocksize": 0})
    );
    assert_eq!(
        Blosc::default().to_json(Dialect::ZarrV3).unwrap_err().to_string(),
        r#"configuration key "typesize" is not usable: Zarr v3 requires the size of an element here; it is filled in when the variable is known"#
    );
}

#[test]
fn wrong_input_is_named() {
    let v2 = |config| refusal(Dialect::Numcodecs, config);
    let v3 = |config| refusal(Dialect::ZarrV3, config);
    assert_eq!(
        v2(json!({"cname": "lzo"})),
        r#"configuration key "cname" is not usable: "lzo" is none of blosclz, lz4, lz4hc, snappy, zlib, zstd"#
    );
    assert_eq!(
        v2(json!({"clevel": 10})),
        r#"configuration key "clevel" is not usable: 10 is not within 0 to 9"#
    );
    assert_eq!(
        v2(json!({"shuffle": 3})),
        r#"configuration key "shuffle" is not usable: 3 is not within -1 to 2"#
    );
    assert_eq!(
        v2(json!({"blocksize": -1})),
        r#"configuration key "blocksize" is not usable: -1 is not within 0 to 2147483647"#
    );
    assert_eq!(
        v3(json!({"shuffle": 1})),
        r#"configuration key "shuffle" is not usable: expected a string, got 1"#
    );
    assert_eq!(
        v3(json!({"shuffle": "byte"})),
        r#"configuration key "shuffle" is not usable: "byte" is none of noshuffle, shuffle, bitshuffle"#
    );
    assert_eq!(
        v3(json!({"shuffle": "shuffle", "typesize": 0})),
        r#"configuration key "typesize" is not usable: 0 is not within 1 to 2147483647"#
    );
    let words = |words: &[u32]| Blosc::from_params(words).unwrap_err().to_string();
    assert_eq!(
        words(&[0; 8]),
        r#"configuration key "cd_values" is not usable: blosc takes 0 to 7 parameters, got 8"#
    );
    assert_eq!(
        words(&[0, 0, 0, 0, 5, 3, 1]),
        r#"configuration key "cd_values[5]" is not usable: shuffle 3 is not within 0 to 2"#
    );
    assert_eq!(
        words(&[0, 0, 0, 0, 5, 1, 6]),
        r#"configuration key "cd_values[6]" is not usable: compressor 6 is not within 0 to 5"#
    );
}

#[test]
fn chunks_beyond_the_format_are_refused_by_name() {
    let mut env = env(Kind::Float, 8, Container::ZarrV2);
    env.chunk_shape = vec![1 << 28];
    assert_eq!(
        Blosc::default().bind(&env.chunk(), &env).unwrap_err().to_string(),
        "not supported: 2147483648 bytes are more than a blosc frame holds (2147483631); take smaller chunks"
    );
}

fn blosc() -> impl Strategy<Value = Blosc> {
    let cname = (0..6_u32).prop_map(|code| Blosc::from_params(&[0, 0, 0, 0, 5, 1, code]).unwrap().cname);
    let shuffle =
        prop_oneof![Just(Shuffle::None), Just(Shuffle::Byte), Just(Shuffle::Bit), Just(Shuffle::Auto)];
    (cname, 0..=9_u32, shuffle, 0..=i32::MAX as u32).prop_map(|(cname, clevel, shuffle, blocksize)| Blosc {
        cname,
        clevel,
        shuffle,
        blocksize,
        ..Blosc::default()
    })
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(blosc in blosc(), typesize in 1..1000_u32) {
        let mut notes = Vec::new();
        let json = blosc.to_json(Dialect::Numcodecs).unwrap();
        prop_assert_eq!(Blosc::from_json(Dialect::Numcodecs, &json, &mut notes), Ok(blosc));
        prop_assert_eq!(Blosc::from_params(&blosc.to_params().unwrap()), Ok(blosc));
        if blosc.shuffle != Shuffle::Auto {
            let blosc = Blosc { typesize: Some(typesize), ..blosc };
            let json = blosc.to_json(Dialect::ZarrV3).unwrap();
            prop_assert_eq!(Blosc::from_json(Dialect::ZarrV3, &json, &mut notes), Ok(blosc));
        }
        prop_assert!(notes.is_empty(), "{:?}", notes);
    }
}
