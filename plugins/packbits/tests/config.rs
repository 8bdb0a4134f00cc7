//! What the configuration takes, gives back and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, Container, Dialect, Dtype, Env, Kind, Repr, Size};
use ncz_packbits::PackBits;
use serde_json::{Map, json};

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![13, 5], container: Container::ZarrV2 }
}

#[test]
fn there_is_nothing_to_configure() {
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        assert_eq!(PackBits.to_json(dialect), Ok(Map::new()));
        assert_eq!(PackBits::from_json(dialect, &Map::new(), &mut Vec::new()), Ok(PackBits));
    }
    assert_eq!(PackBits::from_params(&[]), Ok(PackBits));
    assert_eq!(PackBits.to_params(), Ok(vec![]));
}

#[test]
fn wrong_input_is_named() {
    assert_eq!(
        PackBits::coder(&[1]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: packbits takes 0 parameters, 1 were given"#
    );
    let config = json!({"padding_encoding": "first_byte"});
    assert_eq!(
        PackBits::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
            .unwrap_err()
            .to_string(),
        r#"configuration key "padding_encoding" is not usable: Zarr v3 knows no such key of this codec; other readers refuse it too"#
    );
    let shorts = env(Dtype::little(Kind::Int, 2));
    assert_eq!(
        PackBits.bind(&shorts.chunk(), &shorts).unwrap_err().to_string(),
        "not supported: truth values have one byte, the elements have 2"
    );
}

#[test]
fn a_byte_and_one_for_each_eight_leave_the_stage() {
    let flags = env(Dtype::little(Kind::Bool, 1));
    let output = |input: Repr| PackBits.bind(&input, &flags).unwrap().output;
    let packed = Repr::Array { dtype: Dtype::little(Kind::UInt, 1), shape: vec![10], fill: None };
    assert_eq!(output(flags.chunk()), packed);
    assert_eq!(output(Repr::Bytes { size: Size::Exact(72) }), packed);
    let at_most = |len| Repr::Bytes { size: Size::AtMost(len) };
    assert_eq!(output(at_most(9)), at_most(3));
    assert_eq!(output(Repr::Bytes { size: Size::Unknown }), Repr::Bytes { size: Size::Unknown });
}
