//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, Coder, ErrorKind, Number};
use ncz_quantize::{Quantize, QuantizeCoder};
use proptest::prelude::*;

use properties::{decode, encode};

fn coder(digits: i32, dtype: &str, astype: &str) -> QuantizeCoder {
    let number = |text: &str| text.parse::<Number>().unwrap().word();
    Quantize::coder(&[digits as u32, number(dtype), number(astype)]).unwrap()
}

fn floats(number: Number, bytes: &[u8]) -> Vec<f64> {
    let mut values = vec![0.0; bytes.len() / number.size()];
    number.read_floats(bytes, &mut values);
    values
}

fn try_encode(coder: &QuantizeCoder, data: &[u8]) -> ncz_codec::Result<Vec<u8>> {
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    coder.encode(&mut (), data, &mut stream).map(|len| stream[..len].to_vec())
}

#[test]
fn numbers_are_rounded_as_in_numcodecs_except_for_those_that_it_loses() {
    let (mut same, mut refused, mut kept) = (0, 0, 0);
    for case in stored::cases::<Quantize>("quantize") {
        let (raw, theirs) = (case.raw.as_ref().unwrap(), case.encoded.as_ref().unwrap());
        let (dtype, astype) = (case.codec.dtype.unwrap(), case.codec.astype.unwrap());
        let env = case.env(raw.len());
        let Ok(bound) = case.codec.bind(&env.chunk(), &env) else {
            // They multiply by infinity or by nothing.
            let lost = |value: &f64| value.is_nan() || value.is_infinite();
            assert!(floats(astype, theirs).iter().all(lost), "{}: {:?}", case.name, floats(astype, theirs));
            refused += 1;
            continue;
        };
        let decoded = decode(&bound.coder, theirs, raw.len());
        assert_eq!(decoded.as_ref(), Ok(case.decoded.as_ref().unwrap()), "{}", case.name);
        let (before, after) = (floats(dtype, raw), floats(astype, theirs));
        let ours = match try_encode(&bound.coder, raw) {
            Ok(ours) => ours,
            Err(error) => {
                let lost = before.iter().zip(&after).any(|(a, b)| a.is_finite() && !b.is_finite());
                assert!(lost && astype.size() < dtype.size(), "{}: {error}", case.name);
                refused += 1;
                continue;
            }
        };
        for (at, (ours, theirs)) in ours.chunks(astype.size()).zip(theirs.chunks(astype.size())).enumerate() {
            if ours == theirs {
                same += 1;
                continue;
            }
            assert!(before[at].is_finite() && !after[at].is_finite(), "{}: element {at}", case.name);
            assert_eq!(floats(astype, ours), [astype.rounded(before[at])], "{}", case.name);
            kept += 1;
        }
    }
    assert_eq!((same, refused, kept), (2633, 18, 78));
}

#[test]
fn the_default_fill_value_of_netcdf_stays() {
    let fill = 9.969_21e36_f32.to_le_bytes();
    assert_eq!(encode(&coder(4, "<f4", "<f4"), &fill), fill);
    assert_eq!(
        try_encode(&coder(4, "<f4", "<f2"), &fill).unwrap_err().to_string(),
        "these values cannot be encoded: element 0, 9.969209968386869e36, is larger than any number of type <f2"
    );
}

#[test]
fn failures_are_distinguished() {
    let four = coder(3, "<f8", "<f4");
    let kind = |bytes: &[u8], capacity| decode(&four, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[0; 7], 99), ErrorKind::Truncated);
    assert_eq!(kind(&[0; 8], 15), ErrorKind::OutputFull { need: Some(16) });
    assert_eq!(
        try_encode(&four, &[0; 7]).unwrap_err().to_string(),
        "not supported: 7 bytes are not whole numbers of type <f8"
    );
}

const NUMBERS: [&str; 6] = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"];

proptest! {
    #[test]
    fn numbers_keep_their_digits(values in proptest::collection::vec(-1e9..1e9_f64, 0..2000), digits in -3..6_i32) {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let coder = coder(digits, ">f8", ">f8");
        let stream = encode(&coder, &data);
        let rounded = floats(">f8".parse().unwrap(), &stream);
        for (value, rounded) in values.iter().zip(&rounded) {
            prop_assert!((value - rounded).abs() <= 0.5 * 10_f64.powi(-digits), "{value} {rounded}");
        }
        // Once is enough.
        prop_assert_eq!(encode(&coder, &stream), stream);
    }

    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        capacity in 0..6000_usize,
        digits in -4..4_i32,
        dtype in proptest::sample::select(&NUMBERS[..]),
        astype in proptest::sample::select(&NUMBERS[..]),
    ) {
        let coder = coder(digits, dtype, astype);
        let _ = decode(&coder, &bytes, capacity);
        let _ = try_encode(&coder, &bytes);
        let whole = &bytes[..bytes.len() / 8 * 8];
        if let Ok(stream) = try_encode(&coder, whole) {
            prop_assert_eq!(decode(&coder, &stream, whole.len()).map(|bytes| bytes.len()), Ok(whole.len()));
        }
    }
}
