//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_bitround::BitRound;
use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use serde_json::{Value, json};

fn parse(dialect: Dialect, config: Value) -> Result<BitRound> {
    BitRound::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

fn bind(keepbits: u32, dtype: Dtype, container: Container) -> Result<(Vec<u32>, Repr)> {
    let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    BitRound { keepbits }.bind(&env.chunk(), &env).map(|bound| (bound.working, bound.output))
}

const FLOAT: Dtype = Dtype::little(Kind::Float, 4);

#[test]
fn json_and_words_give_back_what_was_read() {
    for keepbits in [0, 1, 10, 52] {
        let codec = BitRound { keepbits };
        assert_eq!(BitRound::from_params(&codec.to_params().unwrap()), Ok(codec));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            assert_eq!(parse(dialect, Value::Object(codec.to_json(dialect).unwrap())), Ok(codec));
        }
    }
}

#[test]
fn wrong_input_is_named() {
    let message = |dialect, config| parse(dialect, config).unwrap_err().to_string();
    assert_eq!(
        message(Dialect::Numcodecs, json!({})),
        r#"configuration key "keepbits" is not usable: it is missing: the bits of the mantissa to keep"#
    );
    assert_eq!(
        message(Dialect::Numcodecs, json!({"keepbits": -1})),
        r#"configuration key "keepbits" is not usable: -1 is not within 0 to 4294967295"#
    );
    assert_eq!(
        BitRound::from_params(&[]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: bitround takes 1 parameters, got 0"#
    );
    assert!(BitRound::coder(&[3]).is_err() && BitRound::coder(&[3, 9]).is_err());
}

#[test]
fn the_type_is_run_with_and_stays_what_it_is() {
    let array = |dtype| Repr::Array { dtype, shape: vec![64, 48], fill: None };
    for container in [Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        assert_eq!(bind(23, FLOAT, container), Ok((vec![23, 0x34_663c], array(FLOAT))));
    }
    let complex = Dtype::big(Kind::Complex, 16);
    assert_eq!(bind(9, complex, Container::ZarrV3), Ok((vec![9, 0x38_663e], array(complex))));
}

#[test]
fn what_numcodecs_refuses_is_refused_outside_of_zarr_v3() {
    let message = |keepbits, dtype| bind(keepbits, dtype, Container::ZarrV2).unwrap_err().to_string();
    assert_eq!(
        message(24, FLOAT),
        r#"configuration key "keepbits" is not usable: a number of type <f4 has 23 bits to keep, got 24, which numcodecs refuses"#
    );
    for dtype in [Dtype::little(Kind::Int, 4), Dtype::little(Kind::Complex, 8)] {
        assert_eq!(
            message(5, dtype),
            "not supported: outside of Zarr v3 only floating-point numbers are rounded: numcodecs refuses others"
        );
        assert!(bind(5, dtype, Container::ZarrV3).is_ok());
    }
    assert!(bind(24, FLOAT, Container::ZarrV3).is_ok());
    for dtype in
        [Dtype::little(Kind::Bool, 1), Dtype::little(Kind::Opaque, 4), Dtype::little(Kind::Float, 16)]
    {
        assert!(bind(5, dtype, Container::ZarrV3).is_err(), "{dtype:?}");
    }
    let env = Env { dtype: FLOAT, array_shape: vec![], chunk_shape: vec![], container: Container::ZarrV3 };
    let bytes = Repr::Bytes { size: Size::Exact(40) };
    assert_eq!(
        BitRound { keepbits: 3 }.bind(&bytes, &env).unwrap_err().to_string(),
        "not supported: bytes of another codec are not numbers to round"
    );
}
