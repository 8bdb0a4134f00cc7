//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, ErrorKind, Kind, Repr, Result, Size};
use ncz_hdf5_scaleoffset::{Scale, ScaleOffset};
use serde_json::Map;

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::Hdf5 }
}

fn working(given: &[u32], dtype: Dtype) -> Result<Vec<u32>> {
    let env = env(dtype);
    Ok(ScaleOffset::from_params(given)?.bind(&env.chunk(), &env)?.working)
}

fn padded(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    words.resize(20, 0);
    words
}

#[test]
fn two_words_are_given() {
    let read = |words: &[u32]| ScaleOffset::from_params(words).unwrap();
    assert_eq!(read(&[2, 0]), ScaleOffset { scale: Scale::Bits(0), stored: None });
    assert_eq!(read(&[0, 5]), ScaleOffset { scale: Scale::Digits(5), stored: None });
    assert_eq!(read(&[0, u32::MAX]).scale, Scale::Digits(-1));
    // HDF5 counts a negative number of bits as none given.
    assert_eq!(read(&[2, u32::MAX]).scale, Scale::Bits(0));
    for words in [[2, 7], [0, 3]] {
        assert_eq!(read(&words).to_params().unwrap(), words);
    }
}

#[test]
fn the_type_goes_into_the_working_words() {
    let words = |given: &[u32], dtype| working(given, dtype).unwrap();
    assert_eq!(words(&[2, 3], Dtype::little(Kind::Int, 2)), padded(&[2, 3, 3072, 0, 2, 1, 0, 0]));
    assert_eq!(words(&[2, 0], Dtype::big(Kind::UInt, 8)), padded(&[2, 0, 3072, 0, 8, 0, 1, 0]));
    assert_eq!(words(&[0, 2], Dtype::big(Kind::Float, 4)), padded(&[0, 2, 3072, 1, 4, 0, 1, 0]));
}

#[test]
fn so_does_a_fill_value() {
    for (dtype, fill, words) in [
        (Dtype::little(Kind::Int, 2), vec![0xfe, 0xff], [0xfffe, 0]),
        (Dtype::big(Kind::Int, 2), vec![0xff, 0xfe], [0xfffe, 0]),
        (Dtype::big(Kind::Int, 8), vec![1, 2, 3, 4, 5, 6, 7, 8], [0x0506_0708, 0x0102_0304]),
    ] {
        let env = env(dtype);
        let input = Repr::Array { dtype, shape: env.chunk_shape.clone(), fill: Some(fill) };
        let bound = ScaleOffset::from_params(&[2, 0]).unwrap().bind(&input, &env).unwrap();
        assert_eq!((bound.working[7], &bound.working[8..10]), (1, &words[..]));
    }
}

#[test]
fn words_that_hdf5_stored_are_taken_as_they_are() {
    let stored = padded(&[2, 0, 10, 0, 4, 1, 1, 1, 7]);
    let codec = ScaleOffset::from_params(&stored).unwrap();
    assert_eq!(codec.to_params().unwrap(), stored);
    let env = env(Dtype::little(Kind::UInt, 1));
    let bound = codec.bind(&Repr::Bytes { size: Size::Exact(40) }, &env).unwrap();
    assert_eq!(bound.working, stored);
    assert_eq!(bound.output, Repr::Bytes { size: Size::AtMost(62) });
    let error = codec.bind(&Repr::Bytes { size: Size::Exact(41) }, &env).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not supported: scaleoffset expected 10 elements of 4 bytes, got 41 bytes; it must be the first of its chain"
    );
}

#[test]
fn wrong_input_is_named() {
    let message = |words: &[u32]| ScaleOffset::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[]),
        r#"configuration key "cd_values" is not usable: scaleoffset takes 2 parameters, got 0"#
    );
    assert_eq!(
        message(&[1, 2]),
        r#"configuration key "cd_values[0]" is not usable: scaling by powers of two (1) was never part of HDF5; 0 scales by powers of ten"#
    );
    assert_eq!(
        message(&[3, 2]),
        r#"configuration key "cd_values[0]" is not usable: scale type 3 is neither 0 (digits of floating-point numbers) nor 2 (bits of integers)"#
    );
    assert_eq!(
        message(&[2, 65]),
        r#"configuration key "cd_values[1]" is not usable: 65 bits are more than a number has"#
    );
    assert_eq!(
        working(&[2, 9], Dtype::little(Kind::Int, 1)).unwrap_err().to_string(),
        r#"configuration key "cd_values[1]" is not usable: 9 bits are more than the 8 that a number has"#
    );
    assert_eq!(
        working(&[2, 0], Dtype::little(Kind::Float, 4)).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: floating-point numbers need scale type 0"#
    );
    assert_eq!(
        working(&[0, 2], Dtype::little(Kind::Int, 4)).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: integers need scale type 2"#
    );
    for dtype in
        [Dtype::little(Kind::Float, 2), Dtype::little(Kind::Complex, 8), Dtype::little(Kind::Opaque, 3)]
    {
        let error = working(&[0, 2], dtype).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
    }
    assert_eq!(
        ScaleOffset::coder(&[2, 0]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: scaleoffset works with 20 parameters, got 2"#
    );
    let right = padded(&[2, 0, 10, 0, 4, 1, 1, 1]);
    for (place, word) in [(0, 0), (3, 1), (3, 2), (4, 3), (5, 2), (6, 2), (7, 2), (1, 33)] {
        let mut words = right.clone();
        words[place] = word;
        let error = ScaleOffset::coder(&words).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Config { .. }), "{place}: {error}");
    }
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        let error = ScaleOffset::from_json(dialect, &Map::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not supported: scaleoffset has no JSON form; fixedscaleoffset of numcodecs is another format"
        );
        assert!(ScaleOffset { scale: Scale::Bits(0), stored: None }.to_json(dialect).is_err());
    }
}
