//! The examples give the results that they promise. They need no network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]
#![cfg(all(feature = "builtin", feature = "ndarray"))]

use std::path::PathBuf;

use ncz::registry::Registry;

#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/chain_over_buffer.rs"]
mod chain_over_buffer;
#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/list_plugins.rs"]
mod list_plugins;
#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/open_and_read.rs"]
mod open_and_read;
#[cfg(feature = "s3")]
#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/open_from_s3.rs"]
mod open_from_s3;
#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/own_codec.rs"]
mod own_codec;
#[expect(dead_code, reason = "main is for running the example as a program")]
#[path = "../../examples/recompress.rs"]
mod recompress;

fn ocean() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/ocean.nczarr")
}

#[test]
fn open_and_read_finds_the_mean_of_a_record() {
    let mean = open_and_read::first_mean(ocean().to_str().unwrap(), "/air_temperature").unwrap();
    let dataset = ncz::open(ocean()).unwrap();
    let all: Vec<f32> = dataset.array("/air_temperature").unwrap().read_vec(..).unwrap();
    let record = &all[..73 * 144];
    let wanted = record.iter().map(|value| f64::from(*value)).sum::<f64>() / record.len() as f64;
    assert!((f64::from(mean) - wanted).abs() < wanted.abs() * 1e-3, "{mean} is not {wanted}");
}

#[test]
fn recompress_makes_a_smaller_copy_with_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.zarr");
    let (before, after) = recompress::recompress(&ocean(), target.to_str().unwrap()).unwrap();
    assert!(0 < after && after < before, "{before} {after}");
    let values = |path: PathBuf| -> Vec<i16> {
        ncz::open(path).unwrap().array("/sea_surface_temperature").unwrap().read_vec(..).unwrap()
    };
    assert_eq!(values(ocean()), values(target));
}

#[test]
fn chain_over_buffer_gives_back_a_smaller_chunk() {
    let (len, encoded) = chain_over_buffer::round_trip().unwrap();
    assert_eq!(len, 4000);
    assert!(encoded < len, "{encoded}");
}

#[test]
fn list_plugins_names_the_built_in_codecs_and_explains_one() {
    let registry = Registry::builder().no_plugins(true).build();
    let codecs = list_plugins::codecs(&registry);
    assert!(codecs.lines().any(|line| line.contains("32015") && line.contains("zstd")), "{codecs}");
    let explanation = list_plugins::explanation(&registry, "zstd");
    assert!(explanation.contains("zstd"), "{explanation}");
}

#[test]
fn own_codec_runs_by_the_name_that_it_was_registered_with() {
    assert_eq!(own_codec::round_trip(&[0xff, 0, 7]).unwrap(), [0, 0xff, 0xf8]);
}

#[cfg(feature = "s3")]
#[test]
fn open_from_s3_reads_public_data_anonymously() {
    let server = ncz_test_servers::S3Server::start_with("public").unwrap();
    server.make_public("public");
    server.import(&ocean(), "public", "ocean/").unwrap();
    let url = format!("{}/public/ocean#mode=s3&aws.profile=no&aws.region=us-east-1", server.endpoint());
    let values = open_from_s3::first_values(&url, "/time").unwrap();
    let wanted: Vec<f64> = ncz::open(ocean()).unwrap().array("/time").unwrap().read_vec(..).unwrap();
    assert_eq!(values, wanted[..10]);
}
