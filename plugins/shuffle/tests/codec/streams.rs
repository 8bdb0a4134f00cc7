//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;

use ncz_codec::{Codec, ErrorKind};
use ncz_shuffle::{Shuffle, ShuffleCoder};
use proptest::prelude::*;

use properties::{decode, encode, round_trip};

fn coder(size: u32) -> ShuffleCoder {
    Shuffle::coder(&[size]).unwrap()
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 2 || case.filter_mask != 0 {
            continue;
        }
        let coder = Shuffle::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn bytes_after_the_last_element_stay_where_they_are() {
    assert_eq!(encode(&coder(4), b"a1b2c3d4xyz"), b"ac13bd24xyz");
}

#[test]
fn a_buffer_that_is_too_small_is_named_with_its_need() {
    let error = decode(&coder(4), &[0; 10], 9).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OutputFull { need: Some(10) });
}

proptest! {
    #[test]
    fn any_bytes_come_back_and_lie_in_planes(
        data in proptest::collection::vec(any::<u8>(), 0..3000),
        size in prop_oneof![1..=20_u32, Just(255), Just(4000), Just(u32::MAX)],
    ) {
        let planes = round_trip(&coder(size), &data);
        let size = size as usize;
        let elements = data.len() / size;
        for (at, &byte) in planes.iter().enumerate() {
            let from = if at < elements * size { at % elements * size + at / elements } else { at };
            prop_assert_eq!(byte, data[from]);
        }
    }
}
