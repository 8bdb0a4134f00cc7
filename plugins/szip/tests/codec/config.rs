//! What the configuration reads, writes and refuses, and the parameters of a chunk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Result, Size};
use ncz_szip::Szip;
use serde_json::{Map, Value, json};

fn parse(config: Value) -> Result<Szip> {
    Szip::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

fn szip(mask: u32, pixels_per_block: u32) -> Szip {
    Szip { mask, pixels_per_block }
}

fn working(szip: Szip, dtype: Dtype, array: &[u64], chunk: &[u64], container: Container) -> Result<Vec<u32>> {
    let env = Env { dtype, array_shape: array.to_vec(), chunk_shape: chunk.to_vec(), container };
    szip.bind(&env.chunk(), &env).map(|bound| bound.working)
}

const F4: Dtype = Dtype::little(Kind::Float, 4);
const F8: Dtype = Dtype::little(Kind::Float, 8);

#[test]
fn nczarr_gets_the_words_of_netcdf() {
    // As measured with netcdf-c 4.10.1.
    let nczarr = |szip, dtype, array, chunk| working(szip, dtype, array, chunk, Container::NczarrV2);
    assert_eq!(nczarr(szip(32, 8), F4, &[64, 48], &[64, 48]), Ok(vec![169, 8, 32, 48]));
    let big = Dtype::big(Kind::Float, 8);
    assert_eq!(nczarr(szip(32, 8), big, &[100, 1000, 3], &[10, 100, 3]), Ok(vec![177, 8, 64, 1024]));
    // The scanline is that of the array, not of the chunk.
    assert_eq!(nczarr(szip(32, 8), F4, &[4, 400], &[4, 16]), Ok(vec![169, 8, 32, 400]));
    assert_eq!(
        nczarr(szip(32, 8), Dtype::little(Kind::Int, 2), &[5], &[5]).unwrap_err().to_string(),
        "not supported: a chunk of 5 elements is smaller than a block of 8 pixels; take fewer pixels per block"
    );
    assert_eq!(
        nczarr(szip(32, 8), F4, &[], &[]).unwrap_err().to_string(),
        "not supported: szip needs an array with at least one dimension"
    );
}

#[test]
fn zarr_v3_has_the_scanline_of_the_chunk() {
    // Its codecs do not know the array: zarr-python calls them with a chunk.
    let words = working(szip(32, 8), F4, &[4, 400], &[4, 16], Container::ZarrV3);
    assert_eq!(words, Ok(vec![169, 8, 32, 16]));
}

#[test]
fn hdf5_gets_the_words_of_its_own_filter() {
    let hdf5 = |szip, dtype, array, chunk| working(szip, dtype, array, chunk, Container::Hdf5);
    assert_eq!(hdf5(szip(4, 8), F4, &[640, 480], &[64, 48]), Ok(vec![12, 8, 32, 48]));
    assert_eq!(hdf5(szip(32, 16), F4, &[64, 48], &[64, 48]), Ok(vec![40, 16, 32, 48]));
    let big = Dtype::big(Kind::Float, 4);
    assert_eq!(hdf5(szip(4, 8), big, &[64, 48], &[64, 48]), Ok(vec![20, 8, 32, 48]));
    assert_eq!(hdf5(szip(4, 8), F8, &[64, 48], &[64, 48]), Ok(vec![12, 8, 64, 48]));
    // With the bits that H5Pset_szip adds, these are words of stored chunks.
    assert_eq!(hdf5(szip(133, 16), F8, &[33, 7], &[33, 7]), Ok(vec![141, 16, 64, 231]));
    let bytes = Dtype::little(Kind::UInt, 1);
    assert_eq!(hdf5(szip(161, 8), bytes, &[31, 9], &[31, 9]), Ok(vec![169, 8, 8, 9]));
    assert_eq!(hdf5(szip(32, 16), F4, &[9, 5000], &[9, 5000]), Ok(vec![40, 16, 32, 2048]));
    assert_eq!(hdf5(szip(32, 16), F4, &[9, 3000], &[9, 3000]), Ok(vec![40, 16, 32, 2048]));
}

#[test]
fn the_stored_configuration_is_the_given_one() {
    let env = Env {
        dtype: F4,
        array_shape: vec![64, 48],
        chunk_shape: vec![64, 48],
        container: Container::NczarrV2,
    };
    let bound = szip(32, 8).bind(&env.chunk(), &env).unwrap();
    assert_eq!(bound.stored, szip(32, 8));
    let Ok(Size::AtMost(most)) = bound.output.size() else { panic!("{:?}", bound.output) };
    assert!((12288..15000).contains(&most), "{most}");
}

#[test]
fn wrong_input_is_named() {
    let message = |config| parse(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({"mask": 32})),
        r#"configuration key "pixels-per-block" is not usable: it is missing, and szip has no default for it"#
    );
    assert_eq!(
        message(json!({"mask": 64, "pixels-per-block": 8})),
        r#"configuration key "mask" is not usable: options mask 0x40 has unknown bits 0x40"#
    );
    assert_eq!(
        message(json!({"mask": 32, "pixels-per-block": 9})),
        r#"configuration key "pixels-per-block" is not usable: 9 pixels per block; szip takes an even number from 2 to 32"#
    );
    let message = |words: &[u32]| Szip::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[32]),
        r#"configuration key "cd_values" is not usable: szip takes 2 parameters, got 1"#
    );
    assert_eq!(
        message(&[32, 34]),
        r#"configuration key "cd_values[1]" is not usable: 34 pixels per block; szip takes an even number from 2 to 32"#
    );
    assert_eq!(
        Szip::coder(&[32, 8]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: szip works with 4 parameters, got 2"#
    );
    assert_eq!(
        Szip::coder(&[32, 8, 40, 48]).unwrap_err().to_string(),
        r#"configuration key "cd_values[2]" is not usable: 40 bits per pixel; szip takes 1 to 32, or 64"#
    );
    assert_eq!(
        Szip::from_json(Dialect::ZarrV3, &Map::new(), &mut Vec::new()).unwrap_err().to_string(),
        "not supported: szip has no name in Zarr v3"
    );
    let complex = Dtype::little(Kind::Complex, 16);
    assert_eq!(
        working(szip(32, 8), complex, &[64], &[64], Container::ZarrV2).unwrap_err().to_string(),
        "not supported: szip takes elements of 1, 2, 4 or 8 bytes, not 16"
    );
}

#[test]
fn json_and_words_give_back_what_was_read() {
    for szip in [Szip::default(), szip(4, 2), szip(141, 16)] {
        assert_eq!(Szip::from_params(&szip.to_params().unwrap()), Ok(szip));
        let json = szip.to_json(Dialect::Numcodecs).unwrap();
        assert_eq!(Szip::from_json(Dialect::Numcodecs, &json, &mut Vec::new()), Ok(szip));
    }
    // Words that HDF5 stored include those that a user gives.
    assert_eq!(Szip::from_params(&[169, 8, 32, 48]), Ok(szip(169, 8)));
}
