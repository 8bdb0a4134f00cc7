//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_blosc2::{Blosc2, Compressor, Filter};
use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Size};
use proptest::prelude::*;
use serde_json::Map;

fn env(size: usize, chunk: &[u64], container: Container) -> Env {
    let dtype = Dtype::little(if size == 5 { Kind::Opaque } else { Kind::Float }, size);
    Env { dtype, array_shape: vec![1000; chunk.len()], chunk_shape: chunk.to_vec(), container }
}

/// The words that an HDF5 file gets, for the words that a user gave.
fn hdf5(size: usize, chunk: &[u64], words: &[u32]) -> Vec<u32> {
    let env = env(size, chunk, Container::Hdf5);
    Blosc2::from_params(words).unwrap().bind(&env.chunk(), &env).unwrap().working
}

#[test]
fn hdf5_gets_the_words_that_its_own_plugin_stores() {
    // As measured with hdf5plugin 7.1.0 and HDF5 2.0.0.
    assert_eq!(hdf5(4, &[64, 48], &[]), [1, 0, 4, 12288, 5, 1, 0, 2, 64, 48]);
    assert_eq!(hdf5(8, &[64, 48], &[]), [1, 0, 8, 24576, 5, 1, 0, 2, 64, 48]);
    assert_eq!(hdf5(4, &[64, 48], &[0, 4096, 0, 0, 9, 2, 5]), [1, 4096, 4, 12288, 9, 2, 5, 2, 64, 48]);
    assert_eq!(hdf5(4, &[100], &[0, 0, 0, 0, 5, 1, 0]), [1, 0, 4, 400, 5, 1, 0]);
    assert_eq!(hdf5(4, &[100], &[0, 0, 0, 0, 5, 1]), [1, 0, 4, 400, 5, 1]);
    // Seventeen dimensions are more than Blosc2 has.
    assert_eq!(hdf5(4, &[1; 17], &[0, 0, 0, 0, 5, 1, 1]), [1, 0, 4, 4, 5, 1, 1]);
    let most = [&[1, 0, 4, 4, 5, 1, 1, 16], &[1; 16][..]].concat();
    assert_eq!(hdf5(4, &[1; 16], &[0, 0, 0, 0, 5, 1, 1]), most);
    // Its plugin stores 4 words here, and does not encode with them.
    assert_eq!(hdf5(4, &[100], &[]), [1, 0, 4, 400, 5, 1, 0]);
}

#[test]
fn words_that_hdf5_stored_give_what_was_asked_for() {
    let words = [1, 4096, 4, 12288, 9, 2, 5, 2, 64, 48];
    let given = Blosc2::from_params(&words).unwrap();
    let wanted =
        Blosc2 { cname: Compressor::Zstd, clevel: 9, filter: Filter::BitShuffle, blocksize: 4096, words: 7 };
    assert_eq!(given, wanted);
    // A chunk of another shape gets its own.
    assert_eq!(hdf5(4, &[10], &words), [1, 4096, 4, 40, 9, 2, 5]);
    assert_eq!(hdf5(4, &[10, 2, 3], &words), [1, 4096, 4, 240, 9, 2, 5, 3, 10, 2, 3]);
}

#[test]
fn missing_words_take_the_defaults_of_the_filter() {
    assert_eq!(Blosc2::from_params(&[]).unwrap(), Blosc2 { words: 0, ..Blosc2::default() });
    assert_eq!(Blosc2::default().to_params().unwrap(), [0, 0, 0, 0, 5, 1, 0]);
}

#[test]
fn what_enters_the_stage_counts_in_zarr_and_the_variable_in_hdf5() {
    let delta = Repr::Array { dtype: Dtype::little(Kind::Int, 2), shape: vec![64, 48], fill: None };
    let bytes = Repr::Bytes { size: Size::Exact(12288) };
    let working = |input: &Repr, container| {
        let env = env(4, &[64, 48], container);
        Blosc2::default().bind(input, &env).unwrap().working
    };
    assert_eq!(working(&delta, Container::NczarrV2), [1, 0, 2, 6144, 5, 1, 0, 2, 64, 48]);
    assert_eq!(working(&bytes, Container::NczarrV2), [1, 0, 4, 12288, 5, 1, 0, 2, 64, 48]);
    assert_eq!(working(&bytes, Container::Hdf5), [1, 0, 4, 12288, 5, 1, 0, 2, 64, 48]);
}

#[test]
fn it_has_no_name_in_json() {
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        assert!(Blosc2::INFO.names(dialect).is_empty());
        let text = "not supported: blosc2 has no name in JSON, only its HDF5 filter number 32026";
        assert_eq!(Blosc2::from_json(dialect, &Map::new(), &mut Vec::new()).unwrap_err().to_string(), text);
        assert_eq!(Blosc2::default().to_json(dialect).unwrap_err().to_string(), text);
    }
}

#[test]
fn wrong_input_is_named() {
    let refusal = |words: &[u32]| Blosc2::from_params(words).unwrap_err().to_string();
    assert_eq!(
        refusal(&[0; 25]),
        r#"configuration key "cd_values" is not usable: blosc2 takes 0 to 24 parameters, got 25"#
    );
    assert_eq!(
        refusal(&[0, 1 << 31]),
        r#"configuration key "cd_values[1]" is not usable: block size 2147483648 is over 2147483647"#
    );
    assert_eq!(
        refusal(&[0, 0, 0, 0, 10]),
        r#"configuration key "cd_values[4]" is not usable: level 10 is not within 0 to 9"#
    );
    assert_eq!(
        refusal(&[0, 0, 0, 0, 5, 4]),
        r#"configuration key "cd_values[5]" is not usable: filter 4 of blosc2 (TRUNC_PREC) cannot be used: HDF5 has no parameter word for the number of digits to keep; use bitround"#
    );
    for number in [3, 6, 32, 36, 40] {
        let text = format!(
            r#"configuration key "cd_values[6]" is not usable: compressor {number} is none of 0 blosclz, 1 lz4, 2 lz4hc, 4 zlib, 5 zstd"#
        );
        assert_eq!(refusal(&[0, 0, 0, 0, 5, 1, number]), text);
    }
}

#[test]
fn chunks_beyond_the_format_are_refused_by_name() {
    let env = env(8, &[1 << 28], Container::Hdf5);
    assert_eq!(
        Blosc2::default().bind(&env.chunk(), &env).unwrap_err().to_string(),
        "not supported: 2147483648 bytes are more than a blosc2 frame holds in one chunk (2147483615); take smaller chunks"
    );
}

proptest! {
    #[test]
    fn words_that_are_taken_are_given_back(
        blocksize in 0..=i32::MAX as u32,
        level in 0..10_u32,
        filter in 0..4_u32,
        cname in prop::sample::select(vec![0_u32, 1, 2, 4, 5]),
    ) {
        let words = [0, blocksize, 0, 0, level, filter, cname];
        prop_assert_eq!(Blosc2::from_params(&words).unwrap().to_params().unwrap(), words);
    }

    #[test]
    fn any_words_are_taken_or_refused(words in prop::collection::vec(any::<u32>(), 0..30)) {
        let _ = Blosc2::from_params(&words);
        let _ = Blosc2::coder(&words);
    }
}
