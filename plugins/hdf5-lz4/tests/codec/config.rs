//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_hdf5_lz4::Lz4H5;
use serde_json::{Map, Value, json};

fn parse(config: Value, notes: &mut Vec<String>) -> Result<Lz4H5> {
    Lz4H5::from_json(Dialect::Numcodecs, config.as_object().unwrap(), notes)
}

#[test]
fn the_json_of_imagecodecs_is_read_and_written() {
    let mut notes = Vec::new();
    for config in [json!({}), json!({"level": null, "blocksize": null})] {
        assert_eq!(parse(config, &mut notes), Ok(Lz4H5 { blocksize: None }));
    }
    let config = json!({"level": null, "blocksize": 4096});
    let lz4 = parse(config.clone(), &mut notes).unwrap();
    assert_eq!(lz4, Lz4H5 { blocksize: Some(4096) });
    assert_eq!(Value::Object(lz4.to_json(Dialect::Numcodecs).unwrap()), config);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(parse(json!({"level": 3}), &mut notes), Ok(Lz4H5::default()));
    assert_eq!(notes, ["the HDF5 filter has no parameter \"level\"; it is ignored"]);
}

#[test]
fn words_are_those_of_the_hdf5_filter() {
    assert_eq!(Lz4H5::from_params(&[]), Ok(Lz4H5 { blocksize: None }));
    assert_eq!(Lz4H5::from_params(&[0]), Ok(Lz4H5 { blocksize: None }));
    assert_eq!(Lz4H5::from_params(&[0x7e00_0000]), Ok(Lz4H5 { blocksize: Some(0x7e00_0000) }));
    assert_eq!(Lz4H5 { blocksize: Some(77) }.to_params(), Ok(vec![77]));
    assert_eq!(Lz4H5::default().to_params(), Ok(vec![0]));
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config, &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(
        message(json!({"blocksize": 0})),
        r#"configuration key "blocksize" is not usable: 0 is not within 1 to 2113929216"#
    );
    assert_eq!(
        message(json!({"blocksize": "large"})),
        r#"configuration key "blocksize" is not usable: expected an integer, got "large""#
    );
    let message = |words: &[u32]| Lz4H5::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[1, 2]),
        r#"configuration key "cd_values" is not usable: lz4h5 takes 0 to 1 parameters, got 2"#
    );
    assert_eq!(
        message(&[0x7e00_0001]),
        r#"configuration key "cd_values[0]" is not usable: a block of 2113929217 bytes is over the 2113929216 that LZ4 takes"#
    );
    let lz4 = Lz4H5::default();
    assert_eq!(
        lz4.to_json(Dialect::ZarrV3).unwrap_err().to_string(),
        "not supported: lz4h5 has no name in Zarr v3"
    );
    assert!(Lz4H5::from_json(Dialect::ZarrV3, &Map::new(), &mut Vec::new()).is_err());
}

#[test]
fn the_size_is_bounded_in_every_container() {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    for container in [Container::Hdf5, Container::ZarrV2, Container::NczarrV2] {
        let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
        let bound = Lz4H5 { blocksize: Some(512) }.bind(&env.chunk(), &env).unwrap();
        assert_eq!((bound.working, bound.stored), (vec![512], Lz4H5 { blocksize: Some(512) }));
        // 24 blocks with a length each, and the header.
        let Ok(Size::AtMost(most)) = bound.output.size() else { panic!("{:?}", bound.output) };
        assert!((12288 + 24 * 4 + 12..12450).contains(&most), "{most}");
        let unknown = Repr::Bytes { size: Size::Unknown };
        assert_eq!(Lz4H5::default().bind(&unknown, &env).unwrap().output, unknown);
    }
}
