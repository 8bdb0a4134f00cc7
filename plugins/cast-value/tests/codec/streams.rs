//! The casts of zarr-python, and what holds for every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/v3_cases.rs"]
mod v3_cases;

use ncz_cast_value::CastValue;
use ncz_codec::{ByteOrder, Codec, CodecConfig, Coder, Dialect, Dtype, ErrorKind, Kind, Number, Repr};
use proptest::prelude::*;
use serde_json::{Value, json};

use properties::{damage_is_survived, decode, round_trip};
use v3_cases::{cases, encode, env, same};

fn codec(config: &Value) -> CastValue {
    CastValue::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new()).unwrap()
}

fn coder(config: &Value, dtype: Dtype) -> impl Coder {
    let env = env(dtype, 1);
    codec(config).bind(&env.chunk(), &env).unwrap().coder
}

#[test]
fn every_number_becomes_what_zarr_python_makes_of_it() {
    let cases = cases::<CastValue>("cast_value", |codec, _| codec.data_type);
    assert_eq!(cases.len(), 431);
    let mut unreadable = 0;
    for case in cases {
        let (from, to) = (Number::new(case.dtype).unwrap(), case.codec.data_type);
        let one = env(case.dtype, 1);
        let bound = case.codec.bind(&one.chunk(), &one).unwrap();
        // zarr-python encodes some numbers that no program can decode.
        let reads = |stored: &[u8]| decode(&bound.coder, stored, from.size()).is_ok();
        for (number, wanted) in &case.encoded {
            let found = encode(&bound.coder, number).ok();
            let is = found.as_deref().zip(wanted.as_deref()).is_some_and(|(a, b)| same(to, a, b));
            let wanted = wanted.as_deref().filter(|stored| reads(stored));
            assert!(is || found.is_none() && wanted.is_none(), "{} {number:x?}: {found:x?}", case.name);
            unreadable += usize::from(found.is_none() && !is && wanted.is_none());
        }
        for (number, wanted) in &case.decoded {
            let found = decode(&bound.coder, number, from.size()).ok();
            let is = found.as_deref().zip(wanted.as_deref()).is_some_and(|(a, b)| same(from, a, b));
            assert!(is || found.is_none() && wanted.is_none(), "{} {number:x?}: {found:x?}", case.name);
        }
        // All together, in both byte orders, equal the single results.
        let good: Vec<_> =
            case.encoded.iter().filter(|(_, wanted)| wanted.as_deref().is_some_and(reads)).collect();
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let ordered = |number: Number, bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                if order == ByteOrder::Big {
                    bytes.chunks_mut(number.size()).for_each(<[u8]>::reverse);
                }
                bytes
            };
            let many = env(Dtype { order, ..case.dtype }, good.len());
            let bound = case.codec.bind(&many.chunk(), &many).unwrap();
            let raw: Vec<u8> = good.iter().flat_map(|(number, _)| ordered(from, number)).collect();
            let stream = encode(&bound.coder, &raw).unwrap();
            let wanted = good.iter().flat_map(|(_, wanted)| ordered(to, wanted.as_ref().unwrap()));
            let wanted: Vec<u8> = wanted.collect();
            assert!(
                ordered(to, &stream)
                    .chunks(to.size())
                    .zip(ordered(to, &wanted).chunks(to.size()))
                    .all(|(a, b)| same(to, a, b)),
                "{}",
                case.name
            );
        }
    }
    assert!(unreadable > 0);
}

#[test]
fn long_chunks_are_cast_by_pieces_and_the_element_that_is_refused_is_named() {
    let dtype = Dtype::little(Kind::Float, 8);
    let coder = coder(&json!({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 9]]}}), dtype);
    for at in [0, 511, 512, 1500] {
        let mut values = vec![3.2; 1501];
        values[at] = f64::NAN;
        let raw: Vec<u8> = values.iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
        let mut wanted = vec![3; 1501];
        wanted[at] = 9;
        assert_eq!(encode(&coder, &raw).unwrap(), wanted);
        values[at] = 256.0;
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(
            encode(&coder, &raw).unwrap_err().to_string(),
            format!(
                "these values cannot be encoded: element {at} is 256, which is out of the range of uint8, and out_of_range is not \
                 set; set out_of_range, or map it in scalar_map.encode"
            )
        );
    }
    assert_eq!(
        encode(&coder, &f64::INFINITY.to_le_bytes()).unwrap_err().to_string(),
        "these values cannot be encoded: element 0 is inf, which is not finite, and uint8 cannot hold it; set out_of_range, or map it in \
         scalar_map.encode"
    );
}

#[test]
fn integers_that_could_not_be_read_again_are_refused() {
    for (name, kind, size, largest) in [
        ("float32", Kind::UInt, 4, u64::from(u32::MAX)),
        ("float32", Kind::Int, 4, i32::MAX as u64),
        ("float64", Kind::Int, 8, i64::MAX as u64),
        ("float64", Kind::UInt, 8, u64::MAX),
        ("float16", Kind::Int, 2, i16::MAX as u64),
    ] {
        let dtype = Dtype::little(kind, size);
        let coder = coder(&json!({"data_type": name}), dtype);
        let number = |value: u64| value.to_le_bytes()[..size].to_vec();
        let data: Vec<u8> = (0..600).flat_map(|at| number(if at == 555 { largest } else { at })).collect();
        let error = encode(&coder, &data).unwrap_err().to_string();
        assert!(
            error.contains("element 555 would be stored as ") && error.contains("when it is read"),
            "{error}"
        );
        // With clamp it is read as what it was.
        let config = json!({"data_type": name, "out_of_range": "clamp"});
        let clamped = codec(&config).bind(&env(dtype, 600).chunk(), &env(dtype, 600)).unwrap().coder;
        assert_eq!(decode(&clamped, &encode(&clamped, &data).unwrap(), data.len()).unwrap(), data, "{name}");
    }
    // The results of a map are checked, too.
    let mapped = json!({"data_type": "int16", "scalar_map": {"encode": [[5, 300]]}});
    let coder = coder(&mapped, Dtype::little(Kind::Int, 1));
    assert!(encode(&coder, &[1, 2, 3]).is_ok());
    let error = encode(&coder, &[1, 5, 3]).unwrap_err().to_string();
    assert!(error.contains("element 1 would be stored as 300, which is out of the range of int8"), "{error}");
}

#[test]
fn the_fill_value_is_cast_too_or_refused() {
    let dtype = Dtype::little(Kind::Float, 4);
    let bound = |config: Value, fill: f32| {
        let env = env(dtype, 5);
        let fill = Some(fill.to_le_bytes().to_vec());
        let input = Repr::Array { dtype, shape: vec![5], fill };
        codec(&config).bind(&input, &env).map(|bound| bound.output)
    };
    let output = |fill: u8| Repr::Array {
        dtype: Dtype::little(Kind::UInt, 1),
        shape: vec![5],
        fill: Some(vec![fill]),
    };
    assert_eq!(bound(json!({"data_type": "uint8"}), 7.4), Ok(output(7)));
    let map = json!({"encode": [["NaN", 0]]});
    assert_eq!(bound(json!({"data_type": "uint8", "scalar_map": map}), f32::NAN), Ok(output(0)));
    assert_eq!(bound(json!({"data_type": "uint8", "out_of_range": "clamp"}), 300.0), Ok(output(255)));
    assert_eq!(
        bound(json!({"data_type": "uint8"}), f32::NAN).unwrap_err().to_string(),
        "not supported: the fill value NaN is not finite, and uint8 cannot hold it; choose another fill value, or map \
         it in scalar_map"
    );
    let input = Repr::Array { dtype, shape: vec![5], fill: Some(vec![0; 3]) };
    let refused = codec(&json!({"data_type": "uint8"})).bind(&input, &env(dtype, 5)).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::Size { want: 4, got: 3 });
}

#[test]
fn failures_are_distinguished() {
    let coder = coder(&json!({"data_type": "float32"}), Dtype::little(Kind::Int, 2));
    let kind = |bytes: &[u8], capacity| decode(&coder, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[0; 7], 10), ErrorKind::Truncated);
    assert_eq!(kind(&[0; 8], 3), ErrorKind::OutputFull { need: Some(4) });
    assert_eq!(kind(&f32::NAN.to_le_bytes(), 2), ErrorKind::Corrupt);
    assert_eq!(kind(&1e9_f32.to_le_bytes(), 2), ErrorKind::Corrupt);
    assert_eq!(decode(&coder, &[], 0), Ok(vec![]));
}

proptest! {
    #[test]
    fn the_first_pair_of_a_number_counts_among_many(
        pairs in proptest::collection::vec((0..40_usize, any::<u8>()), 0..100),
        chunk in proptest::collection::vec(0..40_usize, 0..600),
    ) {
        // Zeros are the same number, and so is each NaN.
        let number = |at: usize| match at {
            0 => 0.0,
            1 => -0.0,
            2 => f32::NAN,
            3 => f32::from_bits(0xffc0_0001),
            4 => f32::INFINITY,
            at => at as f32 - 20.0,
        };
        let json = |at: usize| match at {
            2 => json!("NaN"),
            3 => json!("0xffc00001"),
            4 => json!("Infinity"),
            _ => json!(number(at)),
        };
        let is = |a: f32, b: f32| a == b || a.is_nan() && b.is_nan();
        let map: Vec<Value> = pairs.iter().map(|&(at, to)| json!([json(at), to])).collect();
        let config = json!({"data_type": "uint8", "out_of_range": "clamp", "scalar_map": {"encode": map}});
        let coder = coder(&config, Dtype::little(Kind::Float, 4));
        let bytes: Vec<u8> = chunk.iter().flat_map(|&at| number(at).to_le_bytes()).collect();
        let want: Option<Vec<u8>> = chunk
            .iter()
            .map(|&at| match pairs.iter().find(|(from, _)| is(number(*from), number(at))) {
                Some((_, to)) => Some(*to),
                None if number(at).is_nan() || number(at).is_infinite() => None,
                None => Some(number(at) as u8),
            })
            .collect();
        let mut output = vec![0; chunk.len()];
        let encoded = coder.encode(&mut coder.scratch(), &bytes, &mut output);
        prop_assert_eq!(encoded.ok().map(|_| output), want);
    }

    #[test]
    fn numbers_that_the_stored_type_has_round_trip(values in proptest::collection::vec(any::<i16>(), 0..3000)) {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for data_type in ["int16", "int32", "int64", "float32", "float64"] {
            let coder = coder(&json!({"data_type": data_type}), Dtype::little(Kind::Int, 2));
            round_trip(&coder, &raw);
        }
    }

    #[test]
    fn damage_and_garbage_are_survived(
        values in proptest::collection::vec(any::<i16>(), 0..100),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        capacity in 0..300_usize,
    ) {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let coder = coder(&json!({"data_type": "float32"}), Dtype::little(Kind::Int, 2));
        let stream = encode(&coder, &raw).unwrap();
        damage_is_survived(&coder, &stream, raw.len(), &flips);
        let _ = decode(&coder, &garbage, capacity);
        let _ = coder.decoded_len(&garbage);
    }
}
