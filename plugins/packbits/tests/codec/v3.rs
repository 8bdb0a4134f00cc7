//! `packbits` of Zarr v3: its configuration, streams that zarrs stored, and what holds for every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, ErrorKind, Kind, Repr, Size};
use ncz_packbits::{PackBitsV3, PackBitsV3Coder};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::properties::{damage_is_survived, decode, every_other_length_is_refused, round_trip};

fn parse(config: &Value) -> Result<PackBitsV3, String> {
    PackBitsV3::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
        .map_err(|error| error.to_string())
}

fn env(dtype: Dtype, count: usize) -> Env {
    let shape = vec![count as u64];
    Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::ZarrV3 }
}

fn coder(config: &Value, dtype: Dtype, count: usize) -> PackBitsV3Coder {
    let env = env(dtype, count);
    parse(config).unwrap().bind(&env.chunk(), &env).unwrap().coder
}

fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn dtype(name: &str) -> Dtype {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let size = digits.parse::<usize>().map_or(1, |bits| bits / 8);
    let kind = match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "uint" => Kind::UInt,
        "float" => Kind::Float,
        "complex" => Kind::Complex,
        other => panic!("{other}"),
    };
    Dtype::little(kind, size)
}

#[test]
fn chunks_of_zarrs_are_accepted_and_made_again() {
    let path = ncz_test_support::fixtures().join("codecs/v3/packbits.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(cases.len(), 838);
    let mut bare = 0;
    for case in cases {
        let (raw, mut stored) = (unhex(&case["raw"]), unhex(&case["encoded"]));
        let config = &case["configuration"];
        let dtype = dtype(case["dtype"].as_str().unwrap());
        let env = env(dtype, raw.len() / dtype.size);
        let bound = parse(config).unwrap().bind(&env.chunk(), &env).unwrap();
        assert!(decode(&bound.coder, &stored, raw.len()).as_ref() == Ok(&raw), "{case}");
        // Numbers that are stored whole are all that zarrs writes then.
        let padding = config["padding_encoding"].as_str().unwrap();
        let mut size = Size::Exact(stored.len());
        if stored == raw && padding != "none" && dtype.kind != Kind::Bool {
            stored.insert(if padding == "first_byte" { 0 } else { raw.len() }, 0);
            // A later codec can return either length.
            size = Size::AtMost(stored.len());
            bare += 1;
        }
        assert_eq!(bound.output, Repr::Bytes { size });
        for coder in [bound.coder, PackBitsV3::coder(&bound.working).unwrap()] {
            assert!(round_trip(&coder, &raw) == stored, "{case}");
        }
    }
    assert!(bare > 50, "{bare}");
}

#[test]
fn json_round_trips_and_the_words_mean_the_same() {
    for config in [
        json!({"padding_encoding": "none"}),
        json!({"padding_encoding": "first_byte", "first_bit": 0, "last_bit": 11}),
        json!({"padding_encoding": "last_byte", "last_bit": 63}),
    ] {
        let codec = parse(&config).unwrap();
        assert_eq!(Some(&codec.to_json(Dialect::ZarrV3).unwrap()), config.as_object());
        assert_eq!(PackBitsV3::from_params(&codec.to_params().unwrap()), Ok(codec));
    }
    let nulls = json!({"first_bit": null, "last_bit": null});
    assert_eq!((parse(&nulls), parse(&json!({}))), (Ok(PackBitsV3::default()), Ok(PackBitsV3::default())));
    assert_eq!(PackBitsV3::from_params(&[]), Ok(PackBitsV3::default()));
}

#[test]
fn wrong_configurations_and_inputs_are_named() {
    for (config, wanted) in [
        (
            json!({"padding_encoding": "start_byte"}),
            r#"key "padding_encoding" is not usable: "start_byte" is none of"#,
        ),
        (
            json!({"first_bit": 5, "last_bit": 4}),
            r#"key "last_bit" is not usable: 4 is less than the first bit, 5"#,
        ),
        (json!({"first_bit": -1}), r#"key "first_bit" is not usable: -1 is not within 0 to 63"#),
        (json!({"start_bit": 1}), r#"key "start_bit" is not usable: Zarr v3 defines no such key"#),
    ] {
        let error = parse(&config).unwrap_err();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    for (config, dtype, wanted) in [
        (
            json!({"last_bit": 8}),
            Dtype::little(Kind::UInt, 1),
            r#"key "last_bit" is not usable: 8 is not a bit of numbers of 8 bits, which have 0 to 7"#,
        ),
        (
            json!({"first_bit": 1}),
            Dtype::little(Kind::Bool, 1),
            r#"key "first_bit" is not usable: 1 is not a bit of numbers of 1 bits"#,
        ),
        (json!({"first_bit": 32}), Dtype::little(Kind::Complex, 8), r#"key "first_bit""#),
        (
            json!({}),
            Dtype::big(Kind::Int, 2),
            "little-endian numbers only; let the variable be little-endian",
        ),
        (json!({}), Dtype::little(Kind::Opaque, 4), "not Opaque of 4"),
    ] {
        let env = env(dtype, 3);
        let error = parse(&config).unwrap().bind(&env.chunk(), &env).unwrap_err().to_string();
        assert!(error.contains(wanted), "{config}: {error}");
    }
    let env = env(Dtype::little(Kind::Int, 2), 3);
    assert!(parse(&json!({})).unwrap().bind(&Repr::Bytes { size: Size::Exact(6) }, &env).is_err());
    let error = PackBitsV3::from_json(Dialect::Numcodecs, &Default::default(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no name in numcodecs"));
    for words in [&[3][..], &[0, 64], &[0, 5, 4], &[0, 0, 0, 0]] {
        assert!(PackBitsV3::from_params(words).is_err(), "{words:?}");
    }
    for word in [0, 0x0800_0008, 0x0801_0000, 0x0900_0000, 0x0800_0704, 0x1000_0700] {
        let coder = PackBitsV3::coder(&[0, u32::MAX, u32::MAX, word, 1, 0]);
        assert_eq!(coder.is_ok(), word == 0x1000_0700, "{word:#x}");
    }
    assert!(PackBitsV3::coder(&[0, u32::MAX, u32::MAX, 0x0800_0700, 0, u32::MAX]).is_err());
}

#[test]
fn chunks_of_which_the_bits_cannot_be_counted_are_refused() {
    for dtype in [
        Dtype::little(Kind::Bool, 1),
        Dtype::little(Kind::Int, 1),
        Dtype::little(Kind::UInt, 2),
        Dtype::little(Kind::Float, 4),
        Dtype::little(Kind::Complex, 16),
    ] {
        let bind = |count| {
            let env = env(dtype, count);
            parse(&json!({"padding_encoding": "first_byte"})).unwrap().bind(&env.chunk(), &env)
        };
        let most = isize::MAX as usize / 8 / dtype.size;
        assert!(bind(most).is_ok(), "{dtype:?}");
        for count in [most + 1, isize::MAX as usize / dtype.size] {
            let error = bind(count).unwrap_err();
            let wanted = format!("those of {count} elements of {} bytes are too many", dtype.size);
            assert!(error.to_string().contains(&wanted), "{dtype:?}: {error}");
            assert_eq!(*error.kind(), ErrorKind::Unsupported);
        }
    }
}

#[test]
fn numbers_that_would_not_be_restored_are_refused_with_their_index() {
    let twelve = coder(&json!({"last_bit": 11}), Dtype::little(Kind::UInt, 2), 3);
    let mut output = [0; 5];
    assert_eq!(twelve.encode(&mut (), &[1, 0, 0xff, 0x0f, 0, 0], &mut output), Ok(5));
    assert_eq!(
        twelve.encode(&mut (), &[1, 0, 0xff, 0x1f, 0, 0], &mut output).unwrap_err().to_string(),
        "these values cannot be encoded: element 1 has the bits 0x1fff, of which the bits 0 to 11 do not keep all; choose other values of \
         first_bit and last_bit, or round the numbers first"
    );
    let signed = coder(&json!({"last_bit": 3}), Dtype::little(Kind::Int, 1), 2);
    assert_eq!(round_trip(&signed, &[0xf8, 7]), [0x78]);
    assert!(signed.encode(&mut (), &[8, 0], &mut output).is_err());
    let complex = coder(&json!({"first_bit": 16}), Dtype::little(Kind::Complex, 8), 1);
    let error = complex.encode(&mut (), &[0, 0, 0, 0, 1, 0, 0, 0], &mut output).unwrap_err();
    assert!(error.to_string().contains("element 0 has the bits 0x1"), "{error}");
    let flags = coder(&json!({}), Dtype::little(Kind::Bool, 1), 10);
    for at in 0..10 {
        let mut values = [1; 10];
        values[at] = 2;
        let error = flags.encode(&mut (), &values, &mut output).unwrap_err().to_string();
        assert!(
            error.contains(&format!("element {at} is 2, which packing into a bit would lose")),
            "{error}"
        );
    }
}

#[test]
fn failures_are_distinguished() {
    let first = coder(&json!({"padding_encoding": "first_byte"}), Dtype::little(Kind::Bool, 1), 5);
    let kind = |bytes: &[u8], capacity| decode(&first, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(decode(&first, &[3, 0b1_0011], 5), Ok(vec![1, 1, 0, 0, 1]));
    assert_eq!(kind(&[3], 5), ErrorKind::Truncated);
    assert_eq!(kind(&[], 5), ErrorKind::Truncated);
    assert_eq!(kind(&[3, 1, 0], 5), ErrorKind::Trailing { extra: 1 });
    assert_eq!(kind(&[2, 1], 5), ErrorKind::Corrupt);
    assert_eq!(kind(&[3, 0b10_0000], 5), ErrorKind::Corrupt);
    assert_eq!(kind(&[3, 1], 4), ErrorKind::OutputFull { need: Some(5) });
    let last = coder(&json!({"padding_encoding": "last_byte"}), Dtype::little(Kind::Bool, 1), 5);
    assert_eq!(decode(&last, &[0b1_0011, 3], 5), Ok(vec![1, 1, 0, 0, 1]));
    let error = last.encode(&mut (), &[1; 4], &mut [0; 5]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Size { want: 5, got: 4 });
}

proptest! {
    #[test]
    fn any_booleans_round_trip_through_their_bits(flags in proptest::collection::vec(any::<bool>(), 0..3000)) {
        let values: Vec<u8> = flags.iter().map(|&flag| flag.into()).collect();
        let stream = round_trip(&coder(&json!({}), Dtype::little(Kind::Bool, 1), flags.len()), &values);
        prop_assert_eq!(stream.len(), flags.len().div_ceil(8));
        for (n, flag) in flags.iter().enumerate() {
            prop_assert_eq!(stream[n / 8] >> (n % 8) & 1 == 1, *flag);
        }
    }

    #[test]
    fn the_bits_of_numbers_come_back_in_their_order(
        numbers in proptest::collection::vec(any::<u64>(), 0..200), first in 0..64_u32, count in 1..64_u32,
    ) {
        let count = count.min(64 - first);
        let cut = |number: u64| number >> first << first << (64 - first - count) >> (64 - first - count);
        let raw: Vec<u8> = numbers.iter().flat_map(|&number| cut(number).to_le_bytes()).collect();
        let config = json!({"first_bit": first, "last_bit": first + count - 1});
        let stream = round_trip(&coder(&config, Dtype::little(Kind::UInt, 8), numbers.len()), &raw);
        for (n, number) in numbers.iter().enumerate() {
            for bit in 0..count {
                let at = n * count as usize + bit as usize;
                prop_assert_eq!(stream[at / 8] >> (at % 8) & 1, (number >> (first + bit) & 1) as u8);
            }
        }
    }

    #[test]
    fn damage_and_garbage_are_survived(
        values in proptest::collection::vec(0..4096_u16, 1..100),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        capacity in 0..300_usize,
    ) {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for padding in ["none", "first_byte", "last_byte"] {
            let config = json!({"padding_encoding": padding, "last_bit": 11});
            let coder = coder(&config, Dtype::little(Kind::UInt, 2), values.len());
            let stream = round_trip(&coder, &raw);
            every_other_length_is_refused(&coder, &stream, raw.len());
            damage_is_survived(&coder, &stream, raw.len(), &flips);
            let _ = decode(&coder, &garbage, capacity);
        }
    }
}
