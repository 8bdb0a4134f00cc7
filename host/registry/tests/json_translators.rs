//! The built-in JSON translators for foreign filters, against imagecodecs, whose names they use: each reads exactly
//! what the other wrote. And filters without a name, which are written by number.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

use std::fs;
use std::path::Path;

use ncz_codec::{Container, Dialect, Dtype, Env, Kind};
use ncz_registry::Registry;
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_test_support::python;
use serde_json::{Value, json};

/// Writes imagecodecs' encoding of each chunk to `N.theirs`, and its decoding of ours to `N.read`.
const IMAGECODECS: &str = r#"
import json, os, sys
import numpy, numcodecs
from imagecodecs.numcodecs import register_codecs
register_codecs(verbose=False)
folder = sys.argv[1]
for case in json.load(open(os.path.join(folder, 'cases.json'))):
    at = lambda name: os.path.join(folder, f"{case['number']}.{name}")
    codec = numcodecs.get_codec(dict(case['codec']))
    chunk = numpy.fromfile(at('raw'), case['dtype']).reshape(case['shape'])
    if case['codec'].get('itemsize', chunk.itemsize) != chunk.itemsize:
        # given an array, it takes the size of the type instead, and cannot read that again itself
        chunk = chunk.tobytes()
    decoded = codec.decode(open(at('ours'), 'rb').read())
    open(at('read'), 'wb').write(numpy.asarray(decoded).tobytes() if not isinstance(decoded, bytes) else decoded)
    open(at('theirs'), 'wb').write(bytes(codec.encode(chunk)))
"#;

fn registry(folder: &Path) -> Registry {
    Registry::builder().plugin_path(vec![folder.to_owned()]).build()
}

fn plugins() -> Option<std::path::PathBuf> {
    python().ok().map(|python| python.plugin_dir("hdf5plugin").unwrap())
}

fn dtype(code: &str) -> Dtype {
    let kind = match &code[1..2] {
        "f" => Kind::Float,
        "u" => Kind::UInt,
        _ => Kind::Int,
    };
    Dtype::little(kind, code[2..].parse().unwrap())
}

fn env(code: &str, shape: &[u64]) -> Env {
    let (array_shape, chunk_shape) = (shape.to_vec(), shape.to_vec());
    Env { dtype: dtype(code), array_shape, chunk_shape, container: Container::ZarrV2 }
}

fn bind(registry: &Registry, text: &str, env: &Env) -> Result<FilterChain, String> {
    let stages = ChainSpec::parse(text).unwrap().resolve(registry).map_err(|error| chain_of(&error))?;
    FilterChain::bind(&stages, env).map_err(|error| chain_of(&error))
}

/// An error with its causes.
fn chain_of(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain_of(source)),
        None => error.to_string(),
    }
}

/// Smooth numbers of a type, as bytes.
fn field(code: &str, shape: &[u64]) -> Vec<u8> {
    let len: u64 = shape.iter().product();
    let wave = |at: u64| ((at % 48) as f64 / 9.0).sin() * ((at / 48) as f64 / 7.0).cos();
    let number = |at: u64| -> Vec<u8> {
        let value = wave(at);
        match code {
            "<f4" => (value as f32).to_le_bytes().to_vec(),
            "<f8" => value.to_le_bytes().to_vec(),
            "<u2" => (((value + 1.0) * 3000.0) as u16).to_le_bytes().to_vec(),
            "<i2" => ((value * 3000.0) as i16).to_le_bytes().to_vec(),
            "|u1" => vec![((value + 1.0) * 100.0) as u8],
            _ => panic!("{code}"),
        }
    };
    (0..len).flat_map(number).collect()
}

fn encode(chain: &FilterChain, chunk: &[u8]) -> Vec<u8> {
    chain.encode(&mut chain.scratch(), chunk).unwrap().to_vec()
}

fn decode(chain: &FilterChain, stored: &[u8]) -> Result<Vec<u8>, String> {
    let mut chunk = vec![0; chain.chunk_len()];
    chain.decode(0, &mut chain.scratch(), stored, &mut chunk).map_err(|error| chain_of(&error))?;
    Ok(chunk)
}

#[test]
fn what_the_filters_write_imagecodecs_reads_and_the_reverse() {
    let (Some(folder), Ok(python)) = (plugins(), python()) else { return };
    let registry = registry(&folder);
    let work = tempfile::tempdir().unwrap();
    // The chain as a user requests it, and the expected Zarr metadata.
    let cases: [(&str, &str, &[u64], Value); 14] = [
        ("32004", "<f4", &[64, 48], json!({"id": "imagecodecs_lz4h5", "level": null, "blocksize": null})),
        (
            "32004,1000",
            "<u2",
            &[64, 48],
            json!({"id": "imagecodecs_lz4h5", "level": null, "blocksize": 1000}),
        ),
        ("32008", "<f4", &[64, 48], json!({"id": "imagecodecs_bitshuffle", "itemsize": 4, "blocksize": 0})),
        ("32008,64", "<f8", &[7, 5], json!({"id": "imagecodecs_bitshuffle", "itemsize": 8, "blocksize": 64})),
        (
            "32008,0,0",
            "|u1",
            &[9, 11],
            json!({"id": "imagecodecs_bitshuffle", "itemsize": 1, "blocksize": 0}),
        ),
        (
            r#"{"id":"imagecodecs_bitshuffle"}"#,
            "<f4",
            &[64, 48],
            json!({"id": "imagecodecs_bitshuffle", "itemsize": 1, "blocksize": 0}),
        ),
        (
            r#"{"id":"imagecodecs_bitshuffle","itemsize":2,"blocksize":128}"#,
            "<f4",
            &[64, 48],
            json!({"id": "imagecodecs_bitshuffle", "itemsize": 2, "blocksize": 128}),
        ),
        ("32018", "<u2", &[64, 48], json!({"id": "imagecodecs_jpegls", "level": null})),
        ("fcidecomp", "|u1", &[64, 48], json!({"id": "imagecodecs_jpegls", "level": null})),
        ("32033", "<u2", &[64, 48], json!({"id": "imagecodecs_htj2k", "level": null, "planar": false})),
        ("32033", "<i2", &[64, 48], json!({"id": "imagecodecs_htj2k", "level": null, "planar": false})),
        ("htj2k", "|u1", &[48, 64], json!({"id": "imagecodecs_htj2k", "level": null, "planar": false})),
        ("32033", "|u1", &[64, 48, 3], json!({"id": "imagecodecs_htj2k", "level": null, "planar": false})),
        (
            r#"{"id":"imagecodecs_htj2k","planar":null}"#,
            "|u1",
            &[64, 48],
            json!({"id": "imagecodecs_htj2k", "level": null, "planar": null}),
        ),
    ];
    let mut list = Vec::new();
    let mut chains = Vec::new();
    for (number, (asked, code, shape, wanted)) in cases.iter().enumerate() {
        let chain =
            bind(&registry, asked, &env(code, shape)).unwrap_or_else(|error| panic!("{asked}: {error}"));
        let stored = chain.stored_json(Dialect::Numcodecs).unwrap();
        assert_eq!(stored, std::slice::from_ref(wanted), "{asked}");
        // The metadata have the same meaning when they are read.
        let again = bind(&registry, &stored[0].to_string(), &env(code, shape)).unwrap();
        assert_eq!(again.stored_json(Dialect::Numcodecs).unwrap(), stored, "{asked}");
        let raw = field(code, shape);
        let ours = encode(&chain, &raw);
        assert!(encode(&again, &raw) == ours, "{asked}");
        assert_eq!(decode(&again, &ours).unwrap(), raw, "{asked}");
        fs::write(work.path().join(format!("{number}.raw")), &raw).unwrap();
        fs::write(work.path().join(format!("{number}.ours")), &ours).unwrap();
        list.push(json!({"number": number, "codec": wanted, "dtype": code, "shape": shape}));
        chains.push((again, raw));
    }
    fs::write(work.path().join("cases.json"), Value::from(list).to_string()).unwrap();
    python.run_code(IMAGECODECS, &[work.path()], &[]).unwrap();
    for (number, ((chain, raw), case)) in chains.iter().zip(&cases).enumerate() {
        let read = |name: &str| fs::read(work.path().join(format!("{number}.{name}"))).unwrap();
        assert!(read("read") == *raw, "imagecodecs reads other values from {case:?}");
        assert!(
            decode(chain, &read("theirs")).unwrap() == *raw,
            "{case:?} reads other values from imagecodecs"
        );
    }
}

#[test]
fn what_a_half_cannot_say_is_refused_with_the_way_out_or_written_by_number() {
    let Some(folder) = plugins() else { return };
    let registry = registry(&folder);
    // Samples in another order than imagecodecs has them.
    let bands = bind(&registry, "32018", &env("<u2", &[3, 64, 48])).unwrap();
    let bands = chain_of(&bands.stored_json(Dialect::Numcodecs).unwrap_err());
    assert!(bands.contains("several bands (3 here)") && bands.contains("ncz.hdf5_filter"), "{bands}");
    let by_number = r#"{"id":"ncz.hdf5_filter","filter":32018,"cd_values":[]}"#;
    let chain = bind(&registry, by_number, &env("<u2", &[3, 64, 48])).unwrap();
    let raw = field("<u2", &[3, 64, 48]);
    assert_eq!(decode(&chain, &encode(&chain, &raw)).unwrap(), raw);
    let planar = bind(&registry, r#"{"id":"imagecodecs_htj2k","planar":true}"#, &env("|u1", &[64, 48, 3]));
    assert!(planar.unwrap_err().contains("planar"));
    // With a compressor after, bitshuffle's layout has no name.
    let chain = bind(&registry, "32008,0,2", &env("<f4", &[64, 48])).unwrap();
    let stored = chain.stored_json(Dialect::Numcodecs).unwrap();
    assert_eq!(stored, [json!({"id": "ncz.hdf5_filter", "filter": 32008, "cd_values": [0, 2]})]);
}

#[test]
fn a_filter_without_a_name_is_written_by_number_with_the_words_that_were_given() {
    let Some(folder) = plugins() else { return };
    let registry = registry(&folder);
    for (asked, code, lossless) in [
        ("32028,940177214,0", "<f4", false),
        ("sperr,940177214,0", "<f8", false),
        ("32013,3,0,3539053052,1062232653", "<f4", false),
        ("32024,0,1062232653,3539053052,0,0,0,0,0,0", "<f4", false),
        ("32026", "<f4", true),
        ("blosc2", "<f8", true),
    ] {
        let env = env(code, &[64, 48]);
        let chain = bind(&registry, asked, &env).unwrap_or_else(|error| panic!("{asked}: {error}"));
        let stages = ChainSpec::parse(asked).unwrap().resolve(&registry).unwrap();
        assert!(stages[0].is_by_number(), "{asked}");
        let (id, given) = (stages[0].info.filter_id.unwrap(), stages[0].config.to_params().unwrap());
        let stored = chain.stored_json(Dialect::Numcodecs).unwrap();
        assert_eq!(stored, [json!({"id": "ncz.hdf5_filter", "filter": id, "cd_values": given})], "{asked}");
        let v3 = chain.stored_json(Dialect::ZarrV3).unwrap();
        let configuration = json!({"filter": id, "cd_values": given});
        assert_eq!(v3, [json!({"name": "ncz.hdf5_filter", "configuration": configuration})], "{asked}");
        // The filter made other words of them, from type and shape, and so it does when they are read.
        assert_ne!(chain.working()[0].1, given, "{asked}");
        let again = bind(&registry, &v3[0].to_string(), &env).unwrap();
        assert_eq!(again.working(), chain.working(), "{asked}");
        let raw = field(code, &[64, 48]);
        let back = decode(&again, &encode(&chain, &raw)).unwrap();
        assert_eq!(back.len(), raw.len(), "{asked}");
        assert_eq!(back == raw, lossless, "{asked}");
    }
}

#[test]
fn without_the_plugin_the_error_names_the_filter_and_who_brings_it() {
    let empty = tempfile::tempdir().unwrap();
    let by_number = r#"{"id":"ncz.hdf5_filter","filter":32028,"cd_values":[]}"#;
    let error = bind(&registry(empty.path()), by_number, &env("<f4", &[4])).unwrap_err();
    assert!(error.contains("HDF5 filter 32028 (SPERR)") && error.contains("hdf5plugin"), "{error}");
    let registry = Registry::builder().no_plugins(true).build();
    let wrong =
        bind(&registry, r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[6.0]}"#, &env("<f4", &[4]));
    assert!(wrong.unwrap_err().contains("cd_values[0]"), "floats are not words");
}
