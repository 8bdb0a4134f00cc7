//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_jenkins_lookup3::JenkinsLookup3;
use serde_json::{Value, json};

fn parse(dialect: Dialect, config: Value) -> Result<JenkinsLookup3> {
    JenkinsLookup3::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn the_start_of_the_hash_is_0_unless_given() {
    for initval in [0, 7, u32::MAX] {
        let codec = JenkinsLookup3 { initval };
        assert_eq!(JenkinsLookup3::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            assert_eq!(parse(dialect, Value::Object(codec.to_json(dialect).unwrap())), Ok(codec));
        }
    }
    let none = JenkinsLookup3 { initval: 0 };
    assert_eq!(parse(Dialect::Numcodecs, json!({})), Ok(none));
    assert_eq!(
        Value::Object(none.to_json(Dialect::Numcodecs).unwrap()),
        json!({"initval": 0, "prefix": null})
    );
    assert_eq!(Value::Object(none.to_json(Dialect::ZarrV3).unwrap()), json!({}));
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(Dialect::Numcodecs, config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"initval": 4294967296_u64})),
        r#"configuration key "initval" is not usable: 4294967296 is not within 0 to 4294967295"#
    );
    assert_eq!(
        message(json!({"prefix": "ab"})),
        r#"configuration key "prefix" is not usable: numcodecs takes bytes for it, which JSON has not, so that no dataset can hold one"#
    );
    assert_eq!(
        parse(Dialect::ZarrV3, json!({"seed": 1})).unwrap_err().to_string(),
        r#"configuration key "seed" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        JenkinsLookup3::coder(&[1, 2]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: jenkins_lookup3 takes 0 to 1 parameters, got 2"#
    );
}

#[test]
fn four_bytes_are_added_and_overflow_is_refused() {
    let dtype = Dtype::little(Kind::Float, 4);
    let container = Container::ZarrV2;
    let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let codec = JenkinsLookup3::default();
    let size = |input: Repr| codec.bind(&input, &env).map(|bound| bound.output.size().unwrap());
    assert_eq!(size(env.chunk()), Ok(Size::Exact(12292)));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(10) }), Ok(Size::AtMost(14)));
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert!(size(Repr::Bytes { size: Size::AtMost(usize::MAX) }).is_err());
}
