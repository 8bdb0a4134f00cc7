//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_bitround::{BitRound, BitRoundCoder};
use ncz_codec::{ByteOrder, Codec, Coder, ErrorKind, Number};
use proptest::prelude::*;

use properties::{decode, encode};

fn coder(keepbits: u32, number: &str) -> BitRoundCoder {
    BitRound::coder(&[keepbits, number.parse::<Number>().unwrap().word()]).unwrap()
}

/// A floating-point number from its bytes, least significant first.
fn float(bytes: &[u8]) -> f64 {
    match bytes.len() {
        2 => {
            let half = u16::from_le_bytes(bytes.try_into().unwrap());
            let mut value = [0.0];
            "<f2".parse::<Number>().unwrap().read_floats(&half.to_le_bytes(), &mut value);
            value[0]
        }
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()),
    }
}

#[test]
fn numbers_are_rounded_as_in_numcodecs_except_for_those_that_it_loses() {
    let (mut same, mut refused, mut kept) = (0, 0, 0);
    for case in stored::cases::<BitRound>("bitround") {
        let raw = case.raw.as_ref().unwrap();
        let env = case.env(raw.len());
        let bound = case.codec.bind(&env.chunk(), &env);
        // The fixtures have no big-endian numbers, which are the same bits in another order.
        let big = case.dtype.order == ByteOrder::Big;
        let Some(theirs) = &case.encoded else {
            assert!(bound.is_err() || big, "{}", case.name);
            refused += usize::from(!big);
            continue;
        };
        let coder = bound.unwrap().coder;
        let ours = encode(&coder, raw);
        let size = case.dtype.size;
        for ((ours, theirs), raw) in ours.chunks(size).zip(theirs.chunks(size)).zip(raw.chunks(size)) {
            if ours == theirs {
                same += 1;
                continue;
            }
            assert_eq!(ours, raw, "{}", case.name);
            let lost = float(raw).is_nan() && !float(theirs).is_nan()
                || float(raw).is_finite() && float(theirs).is_infinite();
            assert!(lost, "{}: {ours:x?} {theirs:x?}", case.name);
            kept += 1;
        }
        assert_eq!(decode(&coder, theirs, raw.len()).as_ref(), Ok(theirs), "{}", case.name);
    }
    assert_eq!((same, refused, kept), (3005, 59, 33));
}

#[test]
fn a_finite_number_stays_finite_and_a_nan_a_nan() {
    let rounded = |keepbits, value: f32| {
        f32::from_le_bytes(encode(&coder(keepbits, "<f4"), &value.to_le_bytes()).try_into().unwrap())
    };
    assert_eq!(rounded(5, f32::MAX), f32::MAX);
    assert_eq!(rounded(5, f32::INFINITY), f32::INFINITY);
    assert_eq!(rounded(0, 1.5), 2.0);
    assert_eq!(rounded(1, 1.25), 1.0);
    assert_eq!(rounded(1, -1.75), -2.0);
    for bits in [0x7fc0_0000, 0x7f80_0001, 0xffff_ffff, 0x7fff_ffff] {
        for keepbits in 0..23 {
            assert!(rounded(keepbits, f32::from_bits(bits)).is_nan(), "{bits:#x} {keepbits}");
        }
    }
}

#[test]
fn integers_keep_bits_from_the_highest_that_is_set() {
    let rounded = |keepbits, value: i8| encode(&coder(keepbits, "|i1"), &[value as u8])[0] as i8;
    // Of 1011 two bits: 1100, 12; of 1010, in the middle, 1000.
    assert_eq!((rounded(2, 11), rounded(2, 10), rounded(2, -11), rounded(2, 3)), (12, 8, -12, 3));
    // 128 is not an i8.
    assert_eq!((rounded(3, 127), rounded(3, -127), rounded(3, -128)), (112, -128, -128));
    assert_eq!(encode(&coder(3, "|u1"), &[255]), [224]);
    assert_eq!(encode(&coder(1, "<u8"), &u64::MAX.to_le_bytes()), (1_u64 << 63).to_le_bytes());
    assert_eq!(encode(&coder(64, "<u8"), &u64::MAX.to_le_bytes()), u64::MAX.to_le_bytes());
}

#[test]
fn failures_are_distinguished() {
    let four = coder(3, "<f4");
    let error = four.encode(&mut (), &[0; 7], &mut [0; 8]).unwrap_err();
    assert_eq!(error.to_string(), "not supported: 7 bytes are not whole numbers of type <f4");
    assert_eq!(*decode(&four, &[0; 8], 7).unwrap_err().kind(), ErrorKind::OutputFull { need: Some(8) });
}

proptest! {
    #[test]
    fn floats_are_the_nearest_that_the_bits_allow(bits in any::<u32>(), keepbits in 0..=23_u32) {
        let value = f32::from_bits(bits);
        let rounded = encode(&coder(keepbits, "<f4"), &value.to_le_bytes());
        let rounded = u32::from_le_bytes(rounded.try_into().unwrap());
        // The other byte order has the same bits.
        let big = encode(&coder(keepbits, ">f4"), &value.to_be_bytes());
        prop_assert_eq!(big, rounded.to_be_bytes());
        // Rounding again changes nothing.
        prop_assert_eq!(encode(&coder(keepbits, "<f4"), &rounded.to_le_bytes()), rounded.to_le_bytes());
        let dropped = 23 - keepbits;
        let unit = 1_u64 << dropped;
        if value.is_finite() && rounded != bits {
            prop_assert_eq!(u64::from(rounded) % unit, 0);
            prop_assert!(u64::from(rounded.abs_diff(bits)) * 2 <= unit);
            if u64::from(rounded.abs_diff(bits)) * 2 == unit {
                prop_assert_eq!(rounded >> dropped & 1, 0);
            }
        }
    }

    #[test]
    fn any_bytes_are_taken_and_given_back(
        data in proptest::collection::vec(any::<u8>(), 0..9000),
        keepbits in 0..70_u32,
        number in proptest::sample::select(&["|i1", "<u2", ">i4", "<i8", ">u8", "<f2", ">f4", "<f8"][..]),
    ) {
        let size: usize = number[2..].parse().unwrap();
        let data = &data[..data.len() - data.len() % size];
        let stream = encode(&coder(keepbits, number), data);
        prop_assert_eq!(decode(&coder(keepbits, number), &stream, data.len()), Ok(stream));
    }
}
