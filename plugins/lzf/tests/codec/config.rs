//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_lzf::Lzf;
use serde_json::{Map, Value, json};

fn env(container: Container) -> Env {
    let dtype = Dtype { kind: Kind::Float, size: 4, order: ByteOrder::Little };
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container }
}

#[test]
fn there_is_nothing_to_configure() {
    let config = Lzf.to_json(Dialect::Numcodecs).unwrap();
    assert_eq!(Value::Object(config.clone()), json!({"header": false}));
    assert_eq!(Lzf::from_json(Dialect::Numcodecs, &config, &mut Vec::new()), Ok(Lzf));
    assert_eq!(Lzf.to_params(), Ok(vec![]));
    assert_eq!(Lzf::from_params(&[]), Ok(Lzf));
    // The words that HDF5 stores.
    assert_eq!(Lzf::from_params(&[4, 261, 12288]), Ok(Lzf));
}

#[test]
fn wrong_input_is_named() {
    let message = |config: Value| -> Result<String> {
        Lzf::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
            .map(|_| String::new())
    };
    for config in [json!({"header": true}), json!({})] {
        assert_eq!(
            message(config).unwrap_err().to_string(),
            r#"configuration key "header" is not usable: only streams without the header of the program lzf are read, as HDF5 has them"#
        );
    }
    assert_eq!(
        Lzf::from_params(&[4, 261, 1, 1]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: lzf takes 0 to 3 parameters, got 4"#
    );
    assert_eq!(
        Lzf.to_json(Dialect::ZarrV3).unwrap_err().to_string(),
        "not supported: lzf has no name in Zarr v3"
    );
    assert!(Lzf::from_json(Dialect::ZarrV3, &Map::new(), &mut Vec::new()).is_err());
}

#[test]
fn the_words_in_hdf5_are_those_of_h5py() {
    for (container, words) in
        [(Container::Hdf5, vec![4, 261, 12288]), (Container::ZarrV2, vec![]), (Container::NczarrV2, vec![])]
    {
        let env = env(container);
        assert_eq!(Lzf.bind(&env.chunk(), &env).unwrap().working, words);
    }
}

#[test]
fn the_size_is_bounded_and_what_is_too_long_is_refused() {
    let env = env(Container::ZarrV2);
    let size = |input: Repr| Lzf.bind(&input, &env).map(|bound| bound.output.size().unwrap());
    assert_eq!(size(env.chunk()), Ok(Size::AtMost(12288 + 384)));
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(1 << 32) }), Ok(Size::Unknown));
    assert_eq!(
        size(Repr::Bytes { size: Size::Exact(1 << 32) }).unwrap_err().to_string(),
        "not supported: 4294967296 bytes are more than lzf takes at once"
    );
}
