//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, CodecConfig, Coder, ErrorKind, Number};
use ncz_fixedscaleoffset::{Factor, FixedScaleOffset, FixedScaleOffsetCoder};
use proptest::prelude::*;

use properties::{decode, encode};

fn coder(
    offset: Factor,
    scale: Factor,
    dtype: &str,
    astype: &str,
) -> ncz_codec::Result<FixedScaleOffsetCoder> {
    let (dtype, astype) = (dtype.parse().ok(), astype.parse().ok());
    FixedScaleOffset::coder(&FixedScaleOffset { offset, scale, dtype, astype }.to_params().unwrap())
}

fn numbers(number: Number, bytes: &[u8]) -> Vec<f64> {
    let (mut floats, mut integers) =
        (vec![0.0; bytes.len() / number.size()], vec![0; bytes.len() / number.size()]);
    if number.is_float() {
        number.read_floats(bytes, &mut floats);
        return floats;
    }
    number.read_integers(bytes, &mut integers);
    integers.iter().map(|&bits| number.value(bits) as f64).collect()
}

fn try_encode(coder: &FixedScaleOffsetCoder, data: &[u8]) -> ncz_codec::Result<Vec<u8>> {
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    coder.encode(&mut (), data, &mut stream).map(|len| stream[..len].to_vec())
}

fn is_float(factor: Factor) -> bool {
    matches!(factor, Factor::Float(_))
}

fn float(factor: Factor) -> f64 {
    match factor {
        Factor::Integer(integer) => integer as f64,
        Factor::Float(float) => float,
    }
}

#[test]
fn streams_of_numcodecs_are_made_again_and_decode_to_the_same_numbers() {
    let (mut same, mut refused, mut decoded, mut undefined) = (0, 0, 0, 0);
    for case in stored::cases::<FixedScaleOffset>("fixedscaleoffset") {
        let (dtype, astype) = (case.codec.dtype.unwrap(), case.codec.astype.unwrap());
        let Some(len) = case.raw.as_ref().or(case.decoded.as_ref()).map(Vec::len) else { continue };
        let env = case.env(len);
        let Ok(bound) = case.codec.bind(&env.chunk(), &env) else {
            assert!(case.encoded.is_none() || case.raw.is_none(), "{}", case.name);
            refused += 1;
            continue;
        };
        if let Some(raw) = &case.raw {
            match (try_encode(&bound.coder, raw), &case.encoded) {
                (Ok(ours), Some(theirs)) => {
                    assert!(ours == *theirs, "{}: {ours:x?} {theirs:x?}", case.name);
                    same += 1;
                }
                (Ok(_), None) => panic!("{} is refused there", case.name),
                (Err(error), _) => {
                    // numcodecs returns another number, by more than rounding.
                    let unit = 1.0 / float(case.codec.scale).abs();
                    let back = case.decoded.as_ref().map(|bytes| numbers(dtype, bytes));
                    let far = |(a, b): (&f64, &f64)| (a - b).abs() > unit + a.abs() * 1e-2 || b.is_nan();
                    let lost = back.is_none_or(|back| numbers(dtype, raw).iter().zip(&back).any(far));
                    // Or the machine makes the right one of what is out of range.
                    let theirs = case.encoded.as_ref().map(|stream| decode(&bound.coder, stream, len));
                    let refused_too = theirs.is_some_and(|back| back.is_err());
                    let by_machine = !dtype.is_float() && !astype.is_float() && is_float(case.codec.scale);
                    assert!(lost || refused_too || by_machine, "{}: {error}", case.name);
                    refused += 1;
                }
            }
        }
        let (Some(stream), Some(theirs)) = (&case.encoded, &case.decoded) else { continue };
        match decode(&bound.coder, stream, len) {
            Ok(ours) => assert!(ours == *theirs, "{}: {ours:x?} {theirs:x?}", case.name),
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Corrupt, "{}", case.name);
                assert!(!dtype.is_float(), "{} {astype}: {error}", case.name);
                undefined += 1;
            }
        }
        decoded += 1;
    }
    assert_eq!((same, refused, decoded, undefined), (1213, 409, 1846, 79));
}

#[test]
fn numbers_that_would_be_lost_are_refused_with_their_index() {
    let (one, ten) = (Factor::Integer(1), Factor::Float(10.0));
    let message = |coder: ncz_codec::Result<FixedScaleOffsetCoder>, data: &[u8]| {
        try_encode(&coder.unwrap(), data).unwrap_err().to_string()
    };
    let floats: Vec<u8> = [1.0, 27.5, f32::NAN].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(
        message(coder(one, ten, "<f4", "|u1"), &floats),
        "these values cannot be encoded: element 1, 27.5, cannot be kept as |u1 with this offset and scale, and another \
         number would be read"
    );
    assert!(message(coder(one, ten, "<f4", "<i4"), &floats).contains("element 2, NaN,"));
    // 0 less 1 wraps around.
    assert!(message(coder(one, one, "|u1", "<i4"), &[5, 0]).contains("element 1, 0,"));
    assert!(
        message(coder(one, one, "<i2", "<i2"), &[5]).contains("1 bytes are not whole numbers of type <i2")
    );
}

#[test]
fn failures_are_distinguished() {
    let ten = coder(Factor::Integer(0), Factor::Float(0.1), "|u1", "<i2").unwrap();
    let kind = |bytes: &[u8], capacity| decode(&ten, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[0; 3], 99), ErrorKind::Truncated);
    assert_eq!(kind(&[0; 4], 1), ErrorKind::OutputFull { need: Some(2) });
    assert_eq!(kind(&[0xff, 0xff], 1), ErrorKind::Corrupt);
}

const NUMBERS: [&str; 14] =
    ["|i1", "<i2", ">i2", "<i4", "<i8", "|u1", "<u2", ">u4", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8"];

proptest! {
    #[test]
    fn numbers_come_back_within_half_a_unit(
        values in proptest::collection::vec(-3000.0..3000.0_f64, 0..2000),
        offset in -100.0..100.0_f64,
        scale in 0.1..10.0_f64,
    ) {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let coder = coder(Factor::Float(offset), Factor::Float(scale), ">f8", "<i2").unwrap();
        let stream = encode(&coder, &data);
        prop_assert_eq!(stream.len(), values.len() * 2);
        let back = decode(&coder, &stream, data.len()).unwrap();
        for (value, back) in values.iter().zip(numbers(">f8".parse().unwrap(), &back)) {
            prop_assert!((value - back).abs() <= 0.500_001 / scale, "{value} {back}");
        }
    }

    #[test]
    fn any_bytes_are_survived_and_integers_round_trip(
        bytes in proptest::collection::vec(any::<u8>(), 0..4000),
        capacity in 0..4000_usize,
        offset in -100..100_i64,
        scale in prop_oneof![Just(1), Just(-1), Just(2), Just(10)],
        dtype in proptest::sample::select(&NUMBERS[..]),
        astype in proptest::sample::select(&NUMBERS[..]),
    ) {
        let Ok(coder) = coder(Factor::Integer(offset), Factor::Integer(scale), dtype, astype) else { return Ok(()) };
        let _ = decode(&coder, &bytes, capacity);
        let _ = try_encode(&coder, &bytes);
        let whole = &bytes[..bytes.len() / 8 * 8];
        let integers = |text: &str| !text.contains('f') && !text.ends_with('8');
        if let Ok(stream) = try_encode(&coder, whole)
            && integers(dtype) && integers(astype) && scale.abs() <= 2
        {
            prop_assert_eq!(decode(&coder, &stream, whole.len()), Ok(whole.to_vec()));
        }
    }
}
