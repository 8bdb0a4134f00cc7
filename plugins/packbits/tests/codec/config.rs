//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Coder as _, Container, Dialect, Dtype, Env, Kind, Repr, Size};
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
        r#"configuration key "cd_values" is not usable: packbits takes 0 parameters, got 1"#
    );
    let config = json!({"padding_encoding": "first_byte"});
    assert_eq!(
        PackBits::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
            .unwrap_err()
            .to_string(),
        r#"configuration key "padding_encoding" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    let flags = env(Dtype::little(Kind::Bool, 1));
    let bytes = Repr::Bytes { size: Size::Exact(65) };
    let refused = |input: &Repr, env: &Env| {
        let error = PackBits.bind(input, env).unwrap_err().to_string();
        assert_eq!(error, "not supported: only truth values of one byte can be packed into bits");
    };
    let (shorts, ints) = (env(Dtype::little(Kind::Bool, 2)), env(Dtype::little(Kind::UInt, 1)));
    for input in [bytes, shorts.chunk(), env(Dtype::little(Kind::Float, 2)).chunk()] {
        refused(&input, &flags);
    }
    // numcodecs takes bytes for truth values, zarr-python with Zarr v3 does not.
    assert_eq!(PackBits.bind(&ints.chunk(), &ints).unwrap().coder.max_encoded_len(65), Some(10));
    refused(&ints.chunk(), &Env { container: Container::ZarrV3, ..ints.clone() });
}

#[test]
fn a_byte_and_one_for_each_eight_leave_the_stage() {
    let flags = env(Dtype::little(Kind::Bool, 1));
    let packed = Repr::Array { dtype: Dtype::little(Kind::UInt, 1), shape: vec![10], fill: None };
    assert_eq!(PackBits.bind(&flags.chunk(), &flags).unwrap().output, packed);
}
