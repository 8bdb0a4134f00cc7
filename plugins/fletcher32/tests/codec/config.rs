//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Size};
use ncz_fletcher32::Fletcher32;
use serde_json::{Map, json};

#[test]
fn there_is_nothing_to_configure() {
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        assert_eq!(Fletcher32.to_json(dialect), Ok(Map::new()));
        assert_eq!(Fletcher32::from_json(dialect, &Map::new(), &mut Vec::new()), Ok(Fletcher32));
    }
    assert_eq!(Fletcher32::from_params(&[]), Ok(Fletcher32));
    assert_eq!(Fletcher32.to_params(), Ok(vec![]));
}

#[test]
fn wrong_input_is_named() {
    assert_eq!(
        Fletcher32::from_params(&[1]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: fletcher32 takes 0 parameters, got 1"#
    );
    let config = json!({"seed": 1});
    let mut notes = Vec::new();
    let config = config.as_object().unwrap();
    assert_eq!(Fletcher32::from_json(Dialect::Numcodecs, config, &mut notes), Ok(Fletcher32));
    assert_eq!(notes, [r#"unknown key "seed" is ignored"#]);
    assert_eq!(
        Fletcher32::from_json(Dialect::ZarrV3, config, &mut notes).unwrap_err().to_string(),
        r#"configuration key "seed" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
}

#[test]
fn four_bytes_are_added_and_overflow_is_refused() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    let container = Container::NczarrV2;
    let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let size = |input: Repr| Fletcher32.bind(&input, &env).map(|bound| bound.output.size().unwrap());
    assert_eq!(size(env.chunk()), Ok(Size::Exact(12292)));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(10) }), Ok(Size::AtMost(14)));
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert!(size(Repr::Bytes { size: Size::AtMost(usize::MAX) }).is_err());
}
