//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_astype::{AsType, AsTypeCoder};
use ncz_codec::{Codec, Coder, ErrorKind, Number};
use proptest::prelude::*;

use properties::{decode, encode, round_trip};

fn coder(stored: &str, data: &str) -> AsTypeCoder {
    let number = |text: &str| text.parse::<Number>().unwrap().word();
    AsType::coder(&[number(stored), number(data)]).unwrap()
}

fn try_encode(coder: &AsTypeCoder, data: &[u8]) -> ncz_codec::Result<Vec<u8>> {
    let mut stream = vec![0; coder.max_encoded_len(data.len()).unwrap()];
    coder.encode(&mut (), data, &mut stream).map(|len| stream[..len].to_vec())
}

#[test]
fn numbers_are_cast_as_numcodecs_casts_them_or_refused_where_it_gives_back_others() {
    let (mut same, mut refused, mut unread) = (0, 0, 0);
    for case in stored::cases::<AsType>("astype") {
        let (encoded, decoded) = (case.encoded.as_ref().unwrap(), case.decoded.as_ref().unwrap());
        let env = case.env(decoded.len());
        let bound = case.codec.bind(&env.chunk(), &env).unwrap();
        let (from, to) = (case.codec.decode_dtype.unwrap(), case.codec.encode_dtype);
        match decode(&bound.coder, encoded, decoded.len()) {
            Ok(ours) => assert!(ours == *decoded, "{}", case.name),
            Err(error) => {
                // Numbers that the type lacks: numpy warns of them.
                assert_eq!(*error.kind(), ErrorKind::Corrupt, "{}: {error}", case.name);
                assert!(to.is_float() && !from.is_float(), "{}: {error}", case.name);
                unread += 1;
            }
        }
        let Some(raw) = &case.raw else { continue };
        match try_encode(&bound.coder, raw) {
            Ok(stream) => {
                assert!(stream == *encoded, "{}", case.name);
                same += 1;
            }
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Values, "{}: {error}", case.name);
                refused += 1;
                // The machine's result for numbers out of range can be decoded correctly by chance.
                let by_chance = from.is_float() != to.is_float();
                assert!(raw != decoded || by_chance, "{}: {error}", case.name);
            }
        }
    }
    assert_eq!((same, refused, unread), (1918, 442, 48));
}

#[test]
fn what_would_be_read_as_another_number_is_named() {
    let message = |stored: &str, data: &str, bytes: &[u8]| {
        try_encode(&coder(stored, data), bytes).unwrap_err().to_string()
    };
    assert_eq!(
        message("|i1", "<i2", &[1, 0, 200, 0]),
        "these values cannot be encoded: element 1, 200, cannot be kept as |i1, and another number would be read"
    );
    assert_eq!(
        message("<i8", "<f8", &f64::NAN.to_le_bytes()),
        "these values cannot be encoded: element 0, NaN, cannot be kept as <i8, and another number would be read"
    );
    assert_eq!(
        message("<f4", "<f8", &1e300_f64.to_le_bytes()),
        "these values cannot be encoded: element 0, 1e300, cannot be kept as <f4, and another number would be read"
    );
    // A double has 53 bits.
    assert_eq!(
        message("<f8", "<i8", &((1_i64 << 53) + 1).to_le_bytes()),
        "these values cannot be encoded: element 0, 9007199254740993, cannot be kept as <f8, and another number would be read"
    );
    assert_eq!(message("<i2", "<f4", &[0; 7]), "not supported: 7 bytes are not whole numbers of type <f4");
    // Numbers that wrap around and back are kept, and so are infinities and NaN.
    assert_eq!(round_trip(&coder("|i1", "|u1"), &[200, 3]), [200, 3]);
    round_trip(&coder("<f4", ">f8"), &[f64::INFINITY.to_be_bytes(), f64::NAN.to_be_bytes()].concat());
    // A fraction is lost.
    assert_eq!(encode(&coder("|i1", "<f4"), &(-2.75_f32).to_le_bytes()), [0xfe]);
}

#[test]
fn failures_are_distinguished() {
    let four = coder("<f4", "<i8");
    let kind = |bytes: &[u8], capacity| decode(&four, bytes, capacity).unwrap_err().kind().clone();
    assert_eq!(kind(&[0; 7], 99), ErrorKind::Truncated);
    assert_eq!(kind(&[0; 8], 15), ErrorKind::OutputFull { need: Some(16) });
    assert_eq!(
        decode(&four, &f32::NAN.to_le_bytes(), 8).unwrap_err().to_string(),
        "the stream is damaged: element 0 is NaN, which no <i8 is"
    );
}

const NUMBERS: [&str; 11] = ["|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8"];

proptest! {
    #[test]
    fn integers_come_back_from_every_type_that_takes_them(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        data in proptest::sample::select(&NUMBERS[..8]),
        stored in proptest::sample::select(&NUMBERS[..]),
    ) {
        let coder = coder(stored, data);
        let whole = &bytes[..bytes.len() / 8 * 8];
        if let Ok(stream) = try_encode(&coder, whole) {
            let back = decode(&coder, &stream, whole.len());
            prop_assert_eq!(back.as_deref(), Ok(whole));
        }
    }

    #[test]
    fn numbers_are_cast_as_each_is_by_itself_and_the_first_that_is_lost_is_named(
        bits in proptest::collection::vec(any::<i64>(), 1..1500),
        shift in 0..64_u32,
        data in proptest::sample::select(&NUMBERS[..]),
        stored in proptest::sample::select(&NUMBERS[..]),
    ) {
        let coder = coder(stored, data);
        let number: Number = data.parse().unwrap();
        let mut bytes = vec![0; bits.len() * number.size()];
        if number.is_float() {
            let values: Vec<f64> = bits.iter().map(|&bits| (bits >> shift) as f64 / 4.0).collect();
            number.write_floats(&values, &mut bytes);
        } else {
            number.write_integers(&bits.iter().map(|&bits| bits >> shift).collect::<Vec<_>>(), &mut bytes);
        }
        let singles: Vec<_> = bytes.chunks(number.size()).map(|bytes| try_encode(&coder, bytes)).collect();
        match singles.iter().position(Result::is_err) {
            None => {
                let stream: Vec<u8> = singles.into_iter().flat_map(Result::unwrap).collect();
                prop_assert_eq!(try_encode(&coder, &bytes), Ok(stream));
            }
            Some(at) => {
                let message = singles[at].clone().unwrap_err().to_string();
                let named = message.replace("element 0,", &format!("element {at},"));
                prop_assert_eq!(try_encode(&coder, &bytes).unwrap_err().to_string(), named);
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        capacity in 0..6000_usize,
        data in proptest::sample::select(&NUMBERS[..]),
        stored in proptest::sample::select(&NUMBERS[..]),
    ) {
        let coder = coder(stored, data);
        let _ = decode(&coder, &bytes, capacity);
        if let Ok(stream) = try_encode(&coder, &bytes) {
            prop_assert_eq!(decode(&coder, &stream, bytes.len()).map(|back| back.len()), Ok(bytes.len()));
        }
    }
}
