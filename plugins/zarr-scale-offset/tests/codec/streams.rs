//! The results of zarr-python, and what holds for every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/v3_cases.rs"]
mod v3_cases;

use ncz_codec::{ByteOrder, Codec, CodecConfig, Coder, Dialect, Dtype, ErrorKind, Kind, Number, Repr};
use ncz_zarr_scale_offset::{ScaleOffset, ScaleOffsetCoder};
use proptest::prelude::*;
use serde_json::{Value, json};

use properties::{damage_is_survived, decode, round_trip};
use v3_cases::{cases, encode, env, same};

fn codec(config: &Value) -> ScaleOffset {
    ScaleOffset::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new()).unwrap()
}

fn coder(config: &Value, dtype: Dtype) -> ScaleOffsetCoder {
    let env = env(dtype, 1);
    codec(config).bind(&env.chunk(), &env).unwrap().coder
}

/// Whether zarr-python's result is infinite and the number is not, which the specification forbids.
fn overflows(number: Number, from: &[u8], to: Option<&[u8]>) -> bool {
    let value = |bytes: &[u8]| {
        let mut value = [0.0];
        number.read_floats(bytes, &mut value);
        value[0]
    };
    number.is_float() && value(from).is_finite() && to.is_some_and(|to| !value(to).is_finite())
}

#[test]
fn every_number_becomes_what_zarr_python_makes_of_it() {
    let cases = cases::<ScaleOffset>("scale_offset", |_, number| number);
    assert_eq!(cases.len(), 83);
    let mut refused = 0;
    for case in cases {
        let number = Number::new(case.dtype).unwrap();
        let one = env(case.dtype, 1);
        let bound = case.codec.bind(&one.chunk(), &one).unwrap();
        let coder = bound.coder;
        let check = |from: &[u8], wanted: &Option<Vec<u8>>, found: Option<Vec<u8>>| {
            let wanted = wanted.as_deref();
            if overflows(number, from, wanted) {
                assert_eq!(found, None, "{} {from:x?}", case.name);
                return 1;
            }
            let is = found.as_deref().zip(wanted).is_some_and(|(a, b)| same(number, a, b));
            assert!(is || found.is_none() && wanted.is_none(), "{} {from:x?}: {found:x?}", case.name);
            0
        };
        for (from, wanted) in &case.encoded {
            refused += check(from, wanted, encode(&coder, from).ok());
        }
        for (from, wanted) in &case.decoded {
            refused += check(from, wanted, decode(&coder, from, number.size()).ok());
        }
        // All together, in both byte orders, equal the single results.
        let good = case.encoded.iter().filter_map(|(from, _)| Some((from, encode(&coder, from).ok()?)));
        let good: Vec<_> = good.collect();
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let ordered = |bytes: Vec<u8>| {
                let mut bytes = bytes;
                if order == ByteOrder::Big {
                    bytes.chunks_mut(number.size()).for_each(<[u8]>::reverse);
                }
                bytes
            };
            let many = env(Dtype { order, ..case.dtype }, good.len());
            let bound = case.codec.bind(&many.chunk(), &many).unwrap();
            let raw: Vec<u8> = good.iter().flat_map(|(from, _)| ordered((*from).clone())).collect();
            let wanted: Vec<u8> = good.iter().flat_map(|(_, to)| ordered(to.clone())).collect();
            assert!(encode(&bound.coder, &raw).unwrap() == wanted, "{}", case.name);
        }
    }
    assert!((20..100).contains(&refused), "{refused}");
}

#[test]
fn numbers_outside_the_type_are_refused_with_their_index() {
    let coder = coder(&json!({"offset": 5, "scale": 2}), Dtype::little(Kind::UInt, 1));
    for (number, at) in [(4, 0), (4, 511), (4, 512), (133, 1500)] {
        let mut raw = vec![132; 1501];
        raw[at] = number;
        assert_eq!(
            encode(&coder, &raw).unwrap_err().to_string(),
            format!(
                "these values cannot be encoded: element {at} is {number}, of which the offset and the scale make a number out of the range of \
                 uint8; choose other factors"
            )
        );
    }
    assert_eq!(
        decode(&coder, &[2, 4, 3], 3).unwrap_err().to_string(),
        "the stream is damaged: element 2 is stored as 3, which by the scale and the offset means no number of type uint8"
    );
    // The difference is out of range; zarr-python stores the product, which is read.
    let minus = self::coder(&json!({"offset": -100, "scale": -1}), Dtype::little(Kind::Int, 1));
    assert!(encode(&minus, &[28]).is_err());
    assert_eq!(decode(&minus, &[0x80], 1), Ok(vec![28]));
}

#[test]
fn the_fill_value_is_computed_too_or_refused() {
    let dtype = Dtype::little(Kind::Int, 2);
    let bound = |config: Value, fill: i16| {
        let input = Repr::Array { dtype, shape: vec![5], fill: Some(fill.to_le_bytes().to_vec()) };
        codec(&config).bind(&input, &env(dtype, 5)).map(|bound| bound.output)
    };
    let fill = Some(vec![0x2c, 1]);
    assert_eq!(
        bound(json!({"offset": 50, "scale": 3}), 150),
        Ok(Repr::Array { dtype, shape: vec![5], fill })
    );
    assert_eq!(
        bound(json!({"offset": 1}), i16::MIN).unwrap_err().to_string(),
        "not supported: the fill value -32768 less the offset, times the scale, is out of the range of int16; choose another \
         fill value, or other factors"
    );
}

#[test]
fn failures_are_distinguished() {
    let coder = coder(&json!({"scale": 2}), Dtype::little(Kind::Int, 2));
    let kind = |bytes: &[u8], capacity| decode(&coder, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[0; 7], 10), ErrorKind::Truncated);
    assert_eq!(kind(&[0; 8], 3), ErrorKind::OutputFull { need: Some(8) });
    assert_eq!(kind(&[1, 0], 2), ErrorKind::Corrupt);
    assert_eq!(decode(&coder, &[], 0), Ok(vec![]));
}

proptest! {
    #[test]
    fn integers_round_trip(
        values in proptest::collection::vec(-1000..1000_i16, 0..3000), offset in -900..900_i16, scale in 1..10_i16,
    ) {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        round_trip(&coder(&json!({"offset": offset, "scale": scale}), Dtype::little(Kind::Int, 2)), &raw);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        values in proptest::collection::vec(any::<f32>(), 0..100),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        capacity in 0..300_usize,
    ) {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let coder = coder(&json!({"offset": 1, "scale": 0.5}), Dtype::little(Kind::Float, 4));
        let stream = encode(&coder, &raw).unwrap();
        damage_is_survived(&coder, &stream, raw.len(), &flips);
        let _ = decode(&coder, &garbage, capacity);
        let _ = coder.decoded_len(&garbage);
    }
}
