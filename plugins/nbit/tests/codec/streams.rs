//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, CodecConfig, Coder, ErrorKind};
use ncz_nbit::{Nbit, NbitCoder};
use proptest::prelude::*;

use properties::{damage_is_survived, decode, encode, every_other_length_is_refused, round_trip};

/// `count` numbers of `size` bytes that use `precision` bits from bit `offset` on.
fn numbers(count: u32, size: u32, order: u32, precision: u32, offset: u32) -> NbitCoder {
    Nbit::coder(&[8, 0, count, 1, size, order, precision, offset]).unwrap()
}

/// The compound of the stored chunks: numbers, bytes, an array and a compound within.
fn compound(count: u32) -> NbitCoder {
    let member = [
        &[36, 5][..],
        &[0, 1, 4, 0, 17, 3],
        &[4, 4, 3],
        &[7, 2, 12, 1, 2, 0, 11, 1],
        &[19, 3, 12, 2, 0, 1, 2, 1, 9, 4, 3, 1, 8, 1, 50, 6],
        &[31, 1, 4, 0, 32, 0],
    ];
    let words = [&[45, 0, count, 3], &member.concat()[..]].concat();
    Nbit::coder(&words).unwrap()
}

#[test]
fn every_dtype_and_edge_decodes_to_the_byte_and_encodes_to_the_same_bytes() {
    let mut packed = 0;
    let cases = ncz_test_support::edges("nbit").unwrap();
    assert_eq!(cases.len(), 296);
    for case in cases {
        let case = case.chunk;
        assert_eq!(case.filter_mask, 0);
        let words = &case.filters[0].params;
        let coder = Nbit::coder(words).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
        assert_eq!(Nbit::from_params(words).unwrap().to_params().as_ref(), Ok(words));
        if words[1] == 0 {
            packed += 1;
            if case.encoded.len() < 100 {
                every_other_length_is_refused(&coder, &case.encoded, case.raw.len());
            }
        }
    }
    assert_eq!(packed, 192);
}

#[test]
fn numbers_of_more_than_8_bytes_are_packed_as_those_of_fewer_are() {
    // 10 bits from bit 3 on, in 12 bytes; the rest must be zero to be restored.
    for (order, at) in [(0, 0), (1, 10)] {
        let mut data = [0; 36];
        for element in data.chunks_mut(12) {
            let value = 0b10_1100_1101_u16 << 3;
            let bytes = if order == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
            element[at..at + 2].copy_from_slice(&bytes);
        }
        let stream = round_trip(&numbers(3, 12, order, 10, 3), &data);
        assert_eq!(stream, [0b1011_0011, 0b0110_1100, 0b1101_1011, 0b0011_0100]);
    }
    let all: Vec<u8> = (1..=32).collect();
    let mut swapped = all.clone();
    swapped.chunks_mut(16).for_each(<[u8]>::reverse);
    assert_eq!(round_trip(&numbers(2, 16, 1, 128, 0), &all), [&all[..], &[0]].concat());
    assert_eq!(round_trip(&numbers(2, 16, 0, 128, 0), &all), [&swapped[..], &[0]].concat());
}

#[test]
fn what_is_not_kept_comes_back_as_zero() {
    let coder = numbers(2, 2, 0, 12, 4);
    let stream = encode(&coder, &[0xff; 4]);
    assert_eq!(decode(&coder, &stream, 4).unwrap(), [0xf0, 0xff, 0xf0, 0xff]);
    let coder = compound(1);
    let decoded = decode(&coder, &encode(&coder, &[0xff; 36]), 36).unwrap();
    // The inner compound has an unused byte between its members, and another after them.
    assert_eq!((decoded[21], decoded[30], decoded[35]), (0, 0, 0));
    assert_eq!(decoded[4..7], [0xff; 3]);
}

#[test]
fn a_copy_may_have_any_length() {
    let coder = Nbit::coder(&[8, 1, 37, 1, 4, 0, 32, 0]).unwrap();
    for length in [0, 1, 148, 500] {
        round_trip(&coder, &vec![7; length]);
    }
}

#[test]
fn failures_are_distinguished() {
    let coder = numbers(10, 4, 1, 17, 3);
    let stream = encode(&coder, &[0x5a; 40]);
    assert_eq!(stream.len(), 22);
    let kind = |bytes: &[u8], capacity| decode(&coder, bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..22 {
        assert_eq!(kind(&stream[..cut], 40), ErrorKind::Truncated);
    }
    assert_eq!(kind(&[&stream[..], b"rest"].concat(), 40), ErrorKind::Trailing { extra: 4 });
    assert_eq!(kind(&stream, 39), ErrorKind::OutputFull { need: Some(40) });
    let error = coder.encode(&mut (), &[0; 39], &mut [0; 99]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Size { want: 40, got: 39 });
}

proptest! {
    #[test]
    fn what_has_been_read_once_round_trips(
        data in proptest::collection::vec(any::<u8>(), 0..40),
        size in 1..20_u32,
        order in 0..2_u32,
        bits in any::<(u32, u32)>(),
    ) {
        let precision = 1 + bits.0 % (8 * size);
        let offset = bits.1 % (8 * size - precision + 1);
        let count = data.len() / size as usize;
        let data = &data[..count * size as usize];
        let coder = numbers(count as u32, size, order, precision, offset);
        let once = decode(&coder, &encode(&coder, data), data.len()).unwrap();
        round_trip(&coder, &once);
        let kept: u32 = data.iter().map(|byte| byte.count_ones()).sum();
        prop_assert!(once.iter().map(|byte| byte.count_ones()).sum::<u32>() <= kept);
        if precision == 8 * size {
            prop_assert_eq!(&once, data);
        }
    }

    #[test]
    fn every_other_length_of_a_stream_is_refused(data in proptest::collection::vec(any::<u8>(), 72..=72)) {
        let coder = compound(2);
        every_other_length_is_refused(&coder, &encode(&coder, &data), 72);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        data in proptest::collection::vec(any::<u8>(), 72..=72),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        words in proptest::collection::vec(prop_oneof![0..6_u32, 0..40_u32, any::<u32>()], 0..40),
    ) {
        let coder = compound(2);
        damage_is_survived(&coder, &encode(&coder, &data), 72, &flips);
        damage_is_survived(&coder, &garbage, 72, &[]);
        let words = [&[words.len() as u32 + 3, 0, 2], &words[..]].concat();
        if let Ok(coder) = Nbit::coder(&words) {
            damage_is_survived(&coder, &garbage, 1000, &[]);
        }
    }
}
