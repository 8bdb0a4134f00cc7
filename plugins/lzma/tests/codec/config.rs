//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use ncz_lzma::{Check, Filter, FilterId, Format, Lzma};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(config: Value) -> Result<Lzma> {
    Lzma::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

fn refusal(config: Value) -> String {
    parse(config).unwrap_err().to_string()
}

#[test]
fn missing_keys_and_words_take_the_defaults() {
    let lzma = Lzma { format: Format::Xz, check: None, preset: None, filters: None };
    assert_eq!(parse(json!({})), Ok(lzma.clone()));
    assert_eq!(parse(json!({"format": 1, "check": -1, "preset": null, "filters": null})), Ok(lzma.clone()));
    assert_eq!(Lzma::from_params(&[]), Ok(lzma.clone()));
    assert_eq!(Lzma::default(), lzma);
    assert_eq!(lzma.to_params(), Ok(vec![1, u32::MAX, u32::MAX]));
}

#[test]
fn both_dialects_have_the_keys_that_zarr_python_writes() {
    let lzma = Lzma { check: Some(Check::Sha256), ..Lzma::default() };
    assert_eq!(
        serde_json::to_string(&lzma.to_json(Dialect::Numcodecs).unwrap()).unwrap(),
        r#"{"format":1,"check":10,"preset":null,"filters":null}"#
    );
    assert_eq!(
        serde_json::to_string(&lzma.to_json(Dialect::ZarrV3).unwrap()).unwrap(),
        r#"{"format":1,"check":10}"#
    );
}

#[test]
fn filters_are_those_of_python() {
    let filters = json!([{"id": 3, "dist": 4}, {"id": 0x4000_0000_0000_0001_u64, "preset": 2, "lc": 0}]);
    let lzma = parse(json!({"format": 3, "filters": filters})).unwrap();
    let [delta, lzma1] = lzma.filters.as_deref().unwrap() else { panic!("{lzma:?}") };
    assert_eq!(*delta, Filter::new(FilterId::Delta).with("dist", 4).unwrap());
    assert_eq!((lzma1.id(), lzma1.option("lc"), lzma1.option("lp")), (FilterId::Lzma1, Some(0), None));
    assert_eq!(lzma.to_params().unwrap(), [3, u32::MAX, u32::MAX, 3, 1, 4, 1, 0b101, 2, 0]);
    assert_eq!(lzma.to_json(Dialect::Numcodecs).unwrap()["filters"], filters);
}

#[test]
fn the_configuration_is_stored_and_run_in_every_container() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
        let lzma = parse(json!({"preset": 3})).unwrap();
        let bound = lzma.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.stored, lzma);
        assert_eq!(bound.working, [1, u32::MAX, 3]);
        assert_eq!(bound.output.size(), Ok(Size::AtMost(12288 + 3072 + 2048)));
    }
}

#[test]
fn wrong_input_is_named() {
    assert_eq!(
        refusal(json!({"format": 4})),
        r#"configuration key "format" is not usable: 4 is not within 1 to 3"#
    );
    assert_eq!(
        refusal(json!({"check": 2})),
        r#"configuration key "check" is not usable: check 2 is none of 0 (none), 1 (CRC-32), 4 (CRC-64), 10 (SHA-256)"#
    );
    assert_eq!(
        refusal(json!({"format": 2, "check": 4})),
        r#"configuration key "check" is not usable: only xz streams ("format": 1) have a checksum"#
    );
    assert_eq!(
        refusal(json!({"preset": 10})),
        r#"configuration key "preset" is not usable: 10 is not within 0 to 9, also without 2147483648 for PRESET_EXTREME"#
    );
    assert_eq!(
        refusal(json!({"preset": 1, "filters": [{"id": 33}]})),
        r#"configuration key "preset" is not usable: it is in the filters, if there are any"#
    );
    assert_eq!(
        refusal(json!({"format": 3})),
        r#"configuration key "filters" is not usable: a raw stream needs them to be decoded"#
    );
    let filters = |filters: Value| refusal(json!({"format": 3, "filters": filters}));
    assert_eq!(filters(json!(33)), r#"configuration key "filters" is not usable: expected a list, got 33"#);
    assert_eq!(
        filters(json!([])),
        r#"configuration key "filters" is not usable: a stream has 1 to 4 filters, not 0"#
    );
    assert_eq!(
        filters(json!([33])),
        r#"configuration key "filters" is not usable: expected an object, got 33"#
    );
    assert_eq!(
        filters(json!([{"id": 10}])),
        r#"configuration key "filters" is not usable: {"id":10} has no "id" that Python's module lzma knows, such as 33 for LZMA2"#
    );
    assert_eq!(
        filters(json!([{"id": 3, "lc": 1}])),
        r#"configuration key "filters" is not usable: filter 3 has no "lc"; it has ["dist"]"#
    );
    assert_eq!(
        filters(json!([{"id": 3, "dist": 257}])),
        r#"configuration key "filters" is not usable: dist 257 is not within 1 to 256"#
    );
    assert_eq!(
        filters(json!([{"id": 33, "mf": 5}])),
        r#"configuration key "filters" is not usable: unknown match finder 5"#
    );
    assert_eq!(
        filters(json!([{"id": 33, "preset": -1}])),
        r#"configuration key "filters" is not usable: "preset" of {"id":33,"preset":-1} is not an unsigned 32-bit integer"#
    );
    let words = |words: &[u32]| Lzma::from_params(words).unwrap_err().to_string();
    assert_eq!(
        words(&[9]),
        r#"configuration key "cd_values[0]" is not usable: format 9 is not within 1 to 3"#
    );
    for cut in [&[3, u32::MAX, u32::MAX, 33][..], &[3, u32::MAX, u32::MAX, 3, 1]] {
        assert_eq!(
            words(cut),
            r#"configuration key "cd_values" is not usable: the words of a filter are not complete"#
        );
    }
    assert_eq!(
        words(&[3, u32::MAX, u32::MAX, 2, 0]),
        r#"configuration key "cd_values" is not usable: unknown filter number"#
    );
    assert_eq!(
        words(&[3, u32::MAX, u32::MAX, 3, 2, 0]),
        r#"configuration key "cd_values" is not usable: a filter has no such options"#
    );
    let five = [&[3, u32::MAX, u32::MAX][..], &[3, 0].repeat(5)].concat();
    assert_eq!(words(&five), r#"configuration key "cd_values" is not usable: there are more than 4 filters"#);
}

#[test]
fn options_that_the_library_does_not_take_are_an_error_of_the_encoder() {
    // Delta by itself does not compress, and 5 literal bits in total are too many.
    for filters in [json!([{"id": 3}]), json!([{"id": 33, "lc": 3, "lp": 2}]), json!([{"id": 33}, {"id": 3}])]
    {
        let lzma = parse(json!({"format": 3, "filters": filters})).unwrap();
        let coder = Lzma::coder(&lzma.to_params().unwrap()).unwrap();
        let error = ncz_codec::Coder::encode(&coder, &mut (), b"abc", &mut [0; 99]).unwrap_err();
        assert_eq!(error.to_string(), "not supported: liblzma does not know these filters or options");
    }
}

fn filter() -> impl Strategy<Value = Filter> {
    let delta = prop_oneof![Just(None), (1..=256_u32).prop_map(Some)].prop_map(|dist| {
        let filter = Filter::new(FilterId::Delta);
        dist.map_or(filter, |dist| filter.with("dist", dist).unwrap())
    });
    let branch =
        any::<u32>().prop_map(|start| Filter::new(FilterId::Arm).with("start_offset", start).unwrap());
    let lzma =
        (any::<bool>(), proptest::option::of(0..=9_u32), proptest::option::of(any::<u32>()), 0..=4_u32);
    let lzma = lzma.prop_map(|(first, preset, dictionary, lc)| {
        let mut filter =
            Filter::new(if first { FilterId::Lzma1 } else { FilterId::Lzma2 }).with("lc", lc).unwrap();
        for (key, value) in [("preset", preset), ("dict_size", dictionary)] {
            filter = value.map_or(filter, |value| filter.with(key, value).unwrap());
        }
        filter
    });
    prop_oneof![delta, branch, lzma]
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(
        plain in (1..=2_u32, proptest::option::of(0..=9_u32)),
        filters in proptest::collection::vec(filter(), 1..=4),
    ) {
        let format = if plain.0 == 1 { Format::Xz } else { Format::Alone };
        for lzma in [
            Lzma { format, check: Some(Check::None), preset: plain.1, filters: None },
            Lzma { format: Format::Raw, check: None, preset: None, filters: Some(filters.clone()) },
        ] {
            prop_assert_eq!(Lzma::from_params(&lzma.to_params().unwrap()), Ok(lzma.clone()));
            for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
                let json = lzma.to_json(dialect).unwrap();
                prop_assert_eq!(Lzma::from_json(dialect, &json, &mut Vec::new()), Ok(lzma.clone()));
            }
        }
    }
}
