//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_bitshuffle::{Bitshuffle, Compression};
use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use serde_json::{Map, Value, json};

fn parse(config: Value) -> Result<Bitshuffle> {
    let mut notes = Vec::new();
    let bits = Bitshuffle::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut notes);
    assert!(notes.is_empty(), "{notes:?}");
    bits
}

fn env(container: Container) -> Env {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container }
}

#[test]
fn the_json_of_imagecodecs_is_read_and_written() {
    let bits = parse(json!({"itemsize": 8, "blocksize": 64})).unwrap();
    assert_eq!(bits, Bitshuffle { itemsize: Some(8), blocksize: 64, ..Bitshuffle::default() });
    let json = bits.to_json(Dialect::Numcodecs).unwrap();
    assert_eq!(Value::Object(json), json!({"itemsize": 8, "blocksize": 64}));
    // Missing keys mean what they mean there.
    assert_eq!(parse(json!({})), Ok(Bitshuffle { itemsize: Some(1), ..Bitshuffle::default() }));
}

#[test]
fn json_that_others_read_wrongly_is_written_only_where_it_was_asked_for() {
    let given = Bitshuffle::from_params(&[]).unwrap();
    let env = env(Container::ZarrV2);
    for bits in [given, given.bind(&env.chunk(), &env).unwrap().stored] {
        assert_eq!(
            bits.to_json(Dialect::Numcodecs).unwrap_err().to_string(),
            "not supported: zarr-python misreads imagecodecs_bitshuffle, so it is only written on request"
        );
    }
    let asked = parse(json!({"itemsize": 4})).unwrap();
    let stored = asked.bind(&env.chunk(), &env).unwrap().stored;
    assert_eq!(
        Value::Object(stored.to_json(Dialect::Numcodecs).unwrap()),
        json!({"itemsize": 4, "blocksize": 0})
    );
}

#[test]
fn a_size_that_is_not_that_of_the_elements_has_two_readings() {
    let bits = parse(json!({})).unwrap();
    for container in [Container::ZarrV2, Container::NczarrV2] {
        let env = env(container);
        assert_eq!(
            bits.bind(&env.chunk(), &env).unwrap_err().to_string(),
            r#"configuration key "itemsize" is not usable: it is 1, but the elements have 4 bytes: zarr-python with imagecodecs writes with the size of the elements; give itemsize 4 if that was the writer"#
        );
    }
    // HDF5's filter sets it.
    let env = env(Container::Hdf5);
    assert_eq!(bits.bind(&env.chunk(), &env).unwrap().working, [0, 4, 4]);
}

#[test]
fn words_are_those_of_the_hdf5_filter() {
    let words = |words: &[u32]| Bitshuffle::from_params(words).unwrap();
    let bits = |words, blocksize, compression| Bitshuffle { blocksize, compression, itemsize: None, words };
    assert_eq!(words(&[]), bits(0, 0, Compression::None));
    assert_eq!(words(&[512]), bits(1, 512, Compression::None));
    assert_eq!(words(&[0, 2]), bits(2, 0, Compression::Lz4));
    assert_eq!(words(&[0, 3]), bits(2, 0, Compression::Zstd { level: 3 }));
    assert_eq!(words(&[8, 3, 4_294_967_291]), bits(3, 8, Compression::Zstd { level: -5 }));
    // The words that HDF5 stores.
    assert_eq!(words(&[0, 4, 4]), bits(0, 0, Compression::None));
    assert_eq!(words(&[0, 4, 4, 0, 2]), bits(2, 0, Compression::Lz4));
    assert_eq!(words(&[0, 3, 8, 16, 3, 9]), bits(3, 16, Compression::Zstd { level: 9 }));
    let env = env(Container::Hdf5);
    for given in [&[][..], &[0], &[0, 0], &[512], &[0, 2], &[512, 2], &[0, 3, 7]] {
        let bound = words(given).bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [&[0, 4, 4], given].concat());
        assert_eq!(bound.stored.to_params().unwrap(), given);
    }
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"itemsize": 0})),
        r#"configuration key "itemsize" is not usable: 0 is not within 1 to 2147483647"#
    );
    assert_eq!(
        message(json!({"blocksize": 12})),
        r#"configuration key "blocksize" is not usable: a block of 12 elements is not a multiple of 8"#
    );
    let message = |words: &[u32]| Bitshuffle::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[4]),
        r#"configuration key "cd_values[0]" is not usable: a block of 4 elements is not a multiple of 8"#
    );
    assert_eq!(
        message(&[0, 1]),
        r#"configuration key "cd_values[1]" is not usable: compressor 1 is none of 0 (none), 2 (LZ4), 3 (Zstandard)"#
    );
    assert_eq!(
        message(&[0; 7]),
        r#"configuration key "cd_values" is not usable: bitshuffle takes 0 to 6 parameters, got 7"#
    );
    let message = |words: &[u32]| Bitshuffle::coder(words).unwrap_err().to_string();
    for words in [&[][..], &[0, 4], &[0, 4, 0]] {
        assert_eq!(
            message(words),
            r#"configuration key "cd_values" is not usable: bitshuffle needs the size of an element in the third word"#
        );
    }
    let bits = Bitshuffle::from_params(&[0, 2]).unwrap();
    assert_eq!(
        bits.to_json(Dialect::Numcodecs).unwrap_err().to_string(),
        "not supported: no JSON is known for bitshuffle with a compressor; blosc has both, or put the compressor after it"
    );
    assert_eq!(
        bits.to_json(Dialect::ZarrV3).unwrap_err().to_string(),
        "not supported: bitshuffle has no name in Zarr v3"
    );
    assert!(Bitshuffle::from_json(Dialect::ZarrV3, &Map::new(), &mut Vec::new()).is_err());
    let env = env(Container::ZarrV2);
    let large = Bitshuffle::from_params(&[0x8000_0000]).unwrap();
    assert_eq!(
        large.bind(&env.chunk(), &env).unwrap_err().to_string(),
        r#"configuration key "blocksize" is not usable: blocks of 2147483648 elements of 4 bytes have 4 GiB or more"#
    );
}

#[test]
fn the_size_is_kept_or_bounded() {
    let env = env(Container::ZarrV2);
    let size = |words: &[u32], input: Repr| {
        Bitshuffle::from_params(words).unwrap().bind(&input, &env).unwrap().output.size().unwrap()
    };
    assert_eq!(size(&[], env.chunk()), Size::Exact(12288));
    for words in [&[0, 2][..], &[0, 3, 3]] {
        let Size::AtMost(most) = size(words, env.chunk()) else { panic!() };
        assert!((12288..12600).contains(&most), "{most}");
        assert_eq!(size(words, Repr::Bytes { size: Size::Unknown }), Size::Unknown);
        let Size::AtMost(_) = size(words, Repr::Bytes { size: Size::AtMost(10) }) else { panic!() };
    }
}
