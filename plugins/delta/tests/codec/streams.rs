//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, Coder, ErrorKind, Number};
use ncz_delta::{Delta, DeltaCoder};
use proptest::prelude::*;

use properties::{decode, round_trip};

fn coder(dtype: &str, astype: &str) -> DeltaCoder {
    let number = |text: &str| text.parse::<Number>().unwrap().word();
    Delta::coder(&[number(dtype), number(astype)]).unwrap()
}

/// Returns the encoding of `data`, or the error.
fn try_encode(coder: &DeltaCoder, data: &[u8]) -> ncz_codec::Result<Vec<u8>> {
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    coder.encode(&mut (), data, &mut stream).map(|len| stream[..len].to_vec())
}

#[test]
fn streams_of_numcodecs_are_made_again_and_decode_to_the_same_numbers() {
    let (mut encoded, mut refused, mut decoded, mut undefined) = (0, 0, 0, 0);
    for case in stored::cases::<Delta>("delta") {
        let len = case.raw.as_ref().or(case.decoded.as_ref()).unwrap().len();
        let env = case.env(len);
        let coder = case.codec.bind(&env.chunk(), &env).unwrap().coder;
        if let Some(raw) = &case.raw {
            match (try_encode(&coder, raw), &case.encoded) {
                (Ok(ours), Some(theirs)) => assert!(ours == *theirs, "{}: {ours:x?} {theirs:x?}", case.name),
                // numcodecs fails on nothing.
                (Ok(ours), None) => assert!(raw.is_empty() && ours.is_empty(), "{}", case.name),
                (Err(error), _) => {
                    // numcodecs loses these numbers, or restores them only by the machine's result for numbers out of
                    // range.
                    let Delta { dtype, astype } = case.codec;
                    let undefined = !dtype.is_float() && dtype.promoted(astype).is_float();
                    assert!(case.decoded.as_ref() != Some(raw) || undefined, "{}: {error}", case.name);
                    println!("{}: {error}", case.name);
                    refused += 1;
                }
            }
            encoded += 1;
        }
        let (Some(stream), Some(theirs)) = (&case.encoded, &case.decoded) else { continue };
        match decode(&coder, stream, len) {
            Ok(ours) => assert!(ours == *theirs, "{}: {ours:x?} {theirs:x?}", case.name),
            Err(error) => {
                let Delta { dtype, astype } = case.codec;
                assert!(!dtype.is_float() && dtype.promoted(astype).is_float(), "{}: {error}", case.name);
                assert_eq!(*error.kind(), ErrorKind::Corrupt, "{}", case.name);
                undefined += 1;
            }
        }
        decoded += 1;
    }
    assert_eq!((encoded, refused, decoded, undefined), (498, 144, 602, 57));
}

#[test]
fn numbers_that_would_be_lost_are_refused_with_their_index() {
    let message =
        |dtype, astype, data: &[u8]| try_encode(&coder(dtype, astype), data).unwrap_err().to_string();
    assert_eq!(
        message("<i2", "|i1", &[1, 0, 200, 0]),
        "these values cannot be encoded: element 1, 200, is too far from the one before for differences of type |i1, and another number \
         would be read"
    );
    let far = numbers("<f4", &[-3e38, 3e38]);
    assert!(message("<f4", "<f4", &far).contains("element 1, "));
    assert!(message("<f8", "<f4", &numbers("<f8", &[0.0, 1e300])).contains("element 1, 1e300,"));
    assert!(message("<f4", "<i2", &numbers("<f4", &[f64::NAN])).contains("element 0, NaN,"));
    // 5 less than before, as an unsigned number, is not a float to add.
    assert!(message("|u1", "<f4", &[9, 4]).contains("element 1, 4,"));
    assert_eq!(message("<i2", "<i2", &[1, 2, 3]), "not supported: 3 bytes are not whole numbers of type <i2");
}

fn numbers(dtype: &str, values: &[f64]) -> Vec<u8> {
    let number: Number = dtype.parse().unwrap();
    let mut bytes = vec![0; values.len() * number.size()];
    number.write_floats(values, &mut bytes);
    bytes
}

#[test]
fn what_rounding_loses_is_encoded_as_numcodecs_does() {
    let encoded = |dtype, astype, values: &[f64]| try_encode(&coder(dtype, astype), &numbers(dtype, values));
    // After a large number, NaN or an infinity the sums are others; the differences are stored all the same.
    let large = encoded("<f4", "<f4", &[1.25, 1e30, 2.5]);
    assert_eq!(large, Ok(numbers("<f4", &[1.25, 1e30, -1e30])));
    let infinite = encoded("<f8", "<f4", &[1.0, f64::INFINITY]);
    assert_eq!(infinite, Ok(numbers("<f4", &[1.0, f64::INFINITY])));
    let nan = encoded("<f4", "<f4", &[1.0, f64::NAN]).unwrap();
    assert!(f32::from_le_bytes(*nan.last_chunk().unwrap()).is_nan());
    // Fractions are cut off.
    assert_eq!(encoded("<f8", "<i2", &[1.0, 2.5, -0.5]), Ok(vec![1, 0, 1, 0, 0xfd, 0xff]));
}

#[test]
fn unsigned_numbers_have_signed_differences() {
    assert_eq!(round_trip(&coder("|u1", "|i1"), &[200, 195, 255]), [200, 251, 60]);
    let numbers: Vec<u8> = [4_000_000_000_u32, 3_999_999_999, 4_000_000_100].map(u32::to_be_bytes).concat();
    // The first one does not fit.
    assert!(try_encode(&coder(">u4", "<i2"), &numbers).is_err());
    assert_eq!(round_trip(&coder(">u4", "<i2"), &[0, 0, 0, 9, 0, 0, 0, 8]), [9, 0, 255, 255]);
}

#[test]
fn failures_are_distinguished() {
    let kind = |coder: DeltaCoder, bytes: &[u8], capacity| {
        decode(&coder, bytes, capacity).unwrap_err().kind().clone()
    };
    assert_eq!(kind(coder("<i4", "<i2"), &[1, 2, 3], 99), ErrorKind::Truncated);
    assert_eq!(kind(coder("<i4", "<i2"), &[1, 2, 3, 4], 7), ErrorKind::OutputFull { need: Some(8) });
    let negative = (-1.0_f32).to_le_bytes();
    assert_eq!(kind(coder("|u1", "<f4"), &negative, 1), ErrorKind::Corrupt);
}

const INTEGERS: [&str; 12] =
    ["|i1", "<i2", ">i2", "<i4", ">i4", "<i8", "|u1", "<u2", ">u4", "<u4", "<u8", ">u8"];
const NUMBERS: [&str; 16] = [
    "|i1", "<i2", ">i2", "<i4", ">i4", "<i8", "|u1", "<u2", ">u4", "<u4", "<u8", ">u8", "<f2", "<f4", ">f4",
    "<f8",
];

proptest! {
    #[test]
    fn any_integers_come_back_from_differences_of_their_own_width(
        data in proptest::collection::vec(any::<u8>(), 0..9000),
        number in proptest::sample::select(&INTEGERS[..]),
    ) {
        let size: usize = number[2..].parse().unwrap();
        let data = &data[..data.len() - data.len() % size];
        let stream = round_trip(&coder(number, number), data);
        // One by one, in wide arithmetic.
        let value = |bytes: &[u8]| {
            let little = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u128::from(byte));
            let big = bytes.iter().fold(0, |sum, &byte| sum << 8 | u128::from(byte));
            if number.starts_with('>') { big } else { little }
        };
        let modulus = 1_u128 << (8 * size);
        let mut before = 0;
        for (number, step) in data.chunks(size).zip(stream.chunks(size)) {
            prop_assert_eq!(value(step), (value(number) + modulus - before) % modulus);
            before = value(number);
        }
    }

    #[test]
    fn what_is_encoded_as_other_integers_round_trips(
        data in proptest::collection::vec(any::<u8>(), 0..4000),
        spread in 1..=8_u32,
        dtype in proptest::sample::select(&INTEGERS[..]),
        astype in proptest::sample::select(&NUMBERS[..]),
    ) {
        let size: usize = dtype[2..].parse().unwrap();
        let big = dtype.starts_with('>');
        // Small numbers, so that many arrays have an encoding.
        let data: Vec<u8> = data.iter().flat_map(|&byte| {
            let mut bytes = vec![0; size];
            bytes[if big { size - 1 } else { 0 }] = byte >> (8 - spread);
            bytes
        }).collect();
        let coder = coder(dtype, astype);
        if let Ok(stream) = try_encode(&coder, &data) {
            prop_assert_eq!(decode(&coder, &stream, data.len()), Ok(data));
        }
    }

    #[test]
    fn the_first_difference_that_other_integers_lose_is_named(
        values in proptest::collection::vec(any::<i64>(), 1..1500),
        shift in 0..64_u32,
        dtype in proptest::sample::select(&INTEGERS[..]),
        astype in proptest::sample::select(&INTEGERS[..]),
    ) {
        let (from, to): (Number, Number) = (dtype.parse().unwrap(), astype.parse().unwrap());
        prop_assume!(!from.promoted(to).is_float());
        let values: Vec<i64> = values.iter().map(|&value| from.wrapped(value >> shift)).collect();
        let (mut data, mut expected) = (vec![0; values.len() * from.size()], vec![0; values.len() * to.size()]);
        from.write_integers(&values, &mut data);
        // One by one.
        let before = [0].iter().chain(&values);
        let steps: Vec<i64> = values.iter().zip(before).map(|(a, b)| from.wrapped(a.wrapping_sub(*b))).collect();
        to.write_integers(&steps, &mut expected);
        match steps.iter().position(|&step| from.wrapped(to.wrapped(step)) != step) {
            None => prop_assert_eq!(try_encode(&coder(dtype, astype), &data), Ok(expected)),
            Some(at) => {
                let message = try_encode(&coder(dtype, astype), &data).unwrap_err().to_string();
                let named = format!("element {at}, {},", from.value(values[at]));
                prop_assert!(message.contains(&named), "{message}: {named}");
            }
        }
    }

    #[test]
    fn any_floats_within_reach_come_back_nearly(
        steps in proptest::collection::vec(-100..100_i32, 0..3000),
        number in proptest::sample::select(&["<f4", ">f4", "<f8"][..]),
    ) {
        // Steps of 0.5 are exact.
        let mut sum = 0;
        let data: Vec<u8> = steps.iter().flat_map(|step| {
            sum += step;
            let value = f64::from(sum) / 2.0;
            match number {
                "<f4" => (value as f32).to_le_bytes().to_vec(),
                ">f4" => (value as f32).to_be_bytes().to_vec(),
                _ => value.to_le_bytes().to_vec(),
            }
        }).collect();
        round_trip(&coder(number, number), &data);
    }

    #[test]
    fn garbage_is_survived(
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        capacity in 0..300_usize,
        dtype in proptest::sample::select(&NUMBERS[..]),
        astype in proptest::sample::select(&NUMBERS[..]),
    ) {
        let coder = coder(dtype, astype);
        let _ = decode(&coder, &garbage, capacity);
        let _ = try_encode(&coder, &garbage).map(|stream| decode(&coder, &stream, 3000));
    }
}
