//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{
    ByteOrder, Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size,
};
use ncz_shuffle::Shuffle;
use serde_json::{Value, json};

const ALL: [Container; 4] = [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3];

fn parse(config: Value) -> (Result<Shuffle>, Vec<String>) {
    let mut notes = Vec::new();
    let shuffle = Shuffle::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut notes);
    (shuffle, notes)
}

fn given(elementsize: u32) -> Shuffle {
    Shuffle { elementsize: Some(elementsize) }
}

fn env(container: Container) -> Env {
    let dtype = Dtype { kind: Kind::Float, size: 8, order: ByteOrder::Little };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container }
}

/// Returns the stored configuration and the working words for a chunk of doubles.
fn bind(shuffle: Shuffle, container: Container) -> Result<(Option<u32>, Vec<u32>)> {
    let env = env(container);
    shuffle.bind(&env.chunk(), &env).map(|bound| (bound.stored.elementsize, bound.working))
}

#[test]
fn a_missing_size_is_four_and_zero_is_the_size_of_the_elements() {
    assert_eq!(parse(json!({})), (Ok(given(4)), vec![]));
    let (shuffle, notes) = parse(json!({"elementsize": 0}));
    assert_eq!(shuffle, Ok(Shuffle { elementsize: None }));
    assert_eq!(notes, ["elementsize 0 means the size of the elements to netcdf-c only; that size is used"]);
    assert_eq!(Shuffle::from_params(&[]), Ok(Shuffle { elementsize: None }));
    assert_eq!(Shuffle::from_params(&[0]), Ok(Shuffle { elementsize: None }));
}

#[test]
fn the_true_size_is_stored_and_run() {
    for container in ALL {
        assert_eq!(bind(Shuffle::default(), container), Ok((Some(8), vec![8])));
    }
}

#[test]
fn a_stored_size_is_honoured_where_all_readers_do() {
    assert_eq!(bind(given(4), Container::ZarrV2), Ok((Some(4), vec![4])));
    assert_eq!(bind(given(4), Container::ZarrV3), Ok((Some(4), vec![4])));
    // HDF5 sets the size of the type over any number that was given.
    assert_eq!(bind(given(4), Container::Hdf5), Ok((Some(8), vec![8])));
    assert_eq!(bind(given(8), Container::NczarrV2), Ok((Some(8), vec![8])));
    assert_eq!(
        bind(given(4), Container::NczarrV2).unwrap_err().to_string(),
        r#"configuration key "elementsize" is not usable: it is 4, but the elements have 8 bytes: numcodecs decodes with 4, netcdf-c with 8; choose the writer by opening the dataset as plain Zarr (4) or with elementsize 0 (8)"#
    );
}

#[test]
fn the_size_is_that_of_what_enters_the_stage() {
    let env = env(Container::ZarrV2);
    let dtype = Dtype { kind: Kind::Int, size: 2, order: ByteOrder::Little };
    let delta = Repr::Array { dtype, shape: vec![64, 48], fill: None };
    assert_eq!(Shuffle::default().bind(&delta, &env).unwrap().working, [2]);
    let bytes = Repr::Bytes { size: Size::AtMost(100) };
    let bound = Shuffle::default().bind(&bytes, &env).unwrap();
    assert_eq!((bound.working, bound.output), (vec![8], bytes));
}

#[test]
fn zarr_v3_means_the_size_of_the_elements_by_a_missing_size_and_none_by_zero() {
    let parse =
        |config: Value| Shuffle::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new());
    assert_eq!(parse(json!({})), Ok(Shuffle { elementsize: None }));
    assert_eq!(Value::Object(Shuffle { elementsize: None }.to_json(Dialect::ZarrV3).unwrap()), json!({}));
    assert_eq!(
        parse(json!({"elementsize": 0})).unwrap_err().to_string(),
        r#"configuration key "elementsize" is not usable: zarr-python shuffles nothing by 0; leave the key out for the size of the elements"#
    );
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).0.unwrap_err().to_string();
    assert_eq!(
        message(json!({"elementsize": -1})),
        r#"configuration key "elementsize" is not usable: -1 is not within 0 to 4294967295"#
    );
    assert_eq!(
        message(json!({"elementsize": {}})),
        r#"configuration key "elementsize" is not usable: expected an integer, got {}"#
    );
    assert_eq!(
        Shuffle::from_params(&[4, 4]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: shuffle takes 0 to 1 parameters, got 2"#
    );
    assert_eq!(
        Shuffle::coder(&[]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: shuffle needs the size of an element"#
    );
    assert_eq!(
        Shuffle::coder(&[0]).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: an element has at least one byte"#
    );
}

#[test]
fn left_over_bytes_are_not_written_to_zarr() {
    let encode = |container| {
        let env = env(container);
        let coder = Shuffle::default().bind(&Repr::Bytes { size: Size::Unknown }, &env).unwrap().coder;
        coder.encode(&mut (), &[0; 20], &mut [0; 20])
    };
    assert_eq!(encode(Container::Hdf5), Ok(20));
    for container in [Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
        assert_eq!(
            encode(container).unwrap_err().to_string(),
            "not supported: 20 bytes are not a multiple of the element size 8, and Zarr's readers refuse such a shuffle"
        );
    }
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for shuffle in [Shuffle::default(), given(1), given(16), given(u32::MAX)] {
        assert_eq!(Shuffle::from_params(&shuffle.to_params().unwrap()), Ok(shuffle));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = shuffle.to_json(dialect).unwrap();
            assert_eq!(Shuffle::from_json(dialect, &json, &mut Vec::new()), Ok(shuffle));
        }
    }
}
