//! The byte codecs of Zarr v3: chunks and codec JSON of zarr-python through our chains, and ours through zarr-python
//! and tensorstore.

use ncz::codec::{Container, Dialect};
use ncz::registry::Registry;
use ncz::registry::spec::{ChainSpec, StageSpec};
use ncz_test_support::{build_plugins, python};
use serde_json::{Value, json};

use crate::harness::{bind, builtins, explained, plugins, run_script};

#[test]
fn zarr_python_and_our_codecs_read_each_others_chunks_and_metadata() {
    exchange(&builtins());
}

#[test]
fn zarr_python_and_our_plugins_read_each_others_chunks_and_metadata() {
    exchange(&plugins(&[&build_plugins().unwrap()]));
}

fn exchange(registry: &Registry) {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action.as_ref(), folder.path().as_os_str()];
        run_script(&python, "v3_codecs.py", &args, None).success("v3_codecs.py").unwrap().stdout_text()
    };
    let cases: usize = act("write").trim().parse().unwrap();
    assert!(cases > 400, "{cases}");
    for number in 0..cases {
        let array = folder.path().join(number.to_string());
        let raw = std::fs::read(array.with_extension("raw")).unwrap();
        let mut metadata: Value =
            serde_json::from_slice(&std::fs::read(array.join("zarr.json")).unwrap()).unwrap();
        let theirs = metadata["codecs"].as_array().unwrap()[1..].to_vec();
        let order = if metadata["codecs"][0]["configuration"]["endian"] == "big" { ">" } else { "<" };
        let dtype = match metadata["data_type"].as_str().unwrap() {
            "uint8" => "u1",
            "int16" => "i2",
            "float32" => "f4",
            "float64" => "f8",
            other => panic!("{other}"),
        };
        let spec = ChainSpec::from_json(Dialect::ZarrV3, &theirs).unwrap();
        let chain = bind(registry, &spec, &format!("{order}{dtype}"), &[1000], Container::ZarrV3);
        let mut decoded = vec![0; chain.chunk_len()];
        let mut scratch = chain.scratch();
        let chunk = array.join("c/0");
        chain
            .decode(0, &mut scratch, &std::fs::read(&chunk).unwrap(), &mut decoded)
            .unwrap_or_else(|error| panic!("{theirs:?}: {}", explained(&error)));
        assert!(decoded == raw, "{theirs:?}: other values");

        let ours = chain.stored_json(Dialect::ZarrV3).unwrap();
        for (ours, theirs) in ours.iter().zip(&theirs).filter(|(a, b)| a["name"] == b["name"]) {
            let configuration = theirs.get("configuration").cloned().unwrap_or_else(|| json!({}));
            assert_eq!(ours["configuration"], configuration, "{theirs}");
        }
        metadata["codecs"].as_array_mut().unwrap().truncate(1);
        metadata["codecs"].as_array_mut().unwrap().extend(ours);
        std::fs::write(&chunk, chain.encode(&mut scratch, &raw).unwrap()).unwrap();
        std::fs::write(array.join("zarr.json"), metadata.to_string()).unwrap();
    }
    let refused = act("read");
    assert!(refused.is_empty(), "{refused}");
}

/// Of the codec that this JSON means: the name, and the notes; or the error.
fn read(codec: Value) -> Result<(String, Vec<String>), String> {
    let spec = StageSpec::from_json(Dialect::ZarrV3, &codec).map_err(|error| explained(&error))?;
    let stage = spec.resolve(&builtins()).map_err(|error| explained(&error))?;
    Ok((stage.info.name.into_owned(), stage.notes))
}

#[test]
fn codec_json_that_other_readers_refuse_is_refused_by_name() {
    for (codec, wanted) in [
        (json!({"name": "gzip", "configuration": {"level": 5, "x": 1}}), r#"key "x""#),
        (json!({"name": "zstd", "configuration": {"level": 23, "checksum": false}}), "23 is not within"),
        (json!({"name": "blosc", "configuration": {"shuffle": 1}}), "expected a string"),
        (json!({"name": "numcodecs.zlib", "configuration": {"level": 4, "x": 1}}), r#"key "x""#),
        (json!({"name": "numcodecs.zstd", "configuration": {"level": 4, "x\"\n": 1}}), r#"key "x\"#),
        (json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 0}}), "shuffles nothing by 0"),
        (json!({"name": "crc32c", "configuration": {"location": "start"}}), r#"key "location""#),
        (json!({"name": "zstd", "configuration": {}, "foo": 1}), r#"a member "foo""#),
        (
            json!({"name": "zstd", "configuration": {}, "must_understand": "no"}),
            r#"a member "must_understand""#,
        ),
        (json!({"name": "whatever", "must_understand": false}), r#"Zarr v3 codec "whatever""#),
        (json!({"name": "numcodecs.whatever", "configuration": {}}), r#"codec "numcodecs.whatever""#),
        (json!({"name": "zlib", "configuration": {"level": 4}}), r#"Zarr v3 codec "zlib""#),
    ] {
        let error = read(codec.clone()).unwrap_err();
        assert!(error.contains(wanted), "{codec}: {error}");
    }
}

#[test]
fn the_numcodecs_name_of_every_codec_is_read_and_one_that_only_we_have_is_noted() {
    let name = |codec| read(codec).unwrap();
    assert_eq!(name(json!("crc32c")), ("crc32c".into(), vec![]));
    let known =
        json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}, "must_understand": false});
    assert_eq!(name(known), ("zstd".into(), vec![]));
    for (id, codec) in
        [("zlib", "deflate"), ("bz2", "bzip2"), ("gzip", "gzip"), ("blosc", "blosc"), ("crc32c", "crc32c")]
    {
        let numcodecs = json!({"name": format!("numcodecs.{id}"), "configuration": {}});
        assert_eq!(name(numcodecs), (codec.into(), vec![]));
    }
    let szip = json!({"name": "numcodecs.szip", "configuration": {"mask": 32, "pixels-per-block": 8}});
    let (codec, notes) = name(szip.clone());
    assert_eq!(codec, "szip");
    assert!(notes[0].contains("zarr-python has no codec"), "{notes:?}");
    let spec = ChainSpec::from_json(Dialect::ZarrV3, std::slice::from_ref(&szip)).unwrap();
    let chain = bind(&builtins(), &spec, "<f4", &[1000], Container::ZarrV3);
    assert_eq!(chain.stored_json(Dialect::ZarrV3).unwrap(), [szip]);
}

#[test]
fn a_codec_is_one_under_its_names_and_its_number() {
    let registry = builtins();
    let stage = |text: &str| ChainSpec::parse(text).unwrap().stages()[0].clone();
    let mut chain = ChainSpec::parse("2|1,6|fletcher32").unwrap();
    for again in [
        "zlib,3",
        "deflate,3",
        r#"{"id":"zlib","level":3}"#,
        r#"{"name":"numcodecs.zlib","configuration":{"level":3}}"#,
        "1,3",
    ] {
        chain.define_with(&registry, stage(again));
        assert_eq!(chain.stages()[1], stage(again));
        assert_eq!(chain.stages().len(), 3, "{again}");
    }
    // What is not at hand is distinguished by what is written.
    chain.define_with(&registry, stage("40000,1"));
    chain.define_with(&registry, stage("40000,2"));
    assert_eq!(chain.stages()[3..], [stage("40000,2")]);
    assert!(chain.remove(&registry, 3) && !chain.remove(&registry, 3) && chain.remove(&registry, 40000));
    assert_eq!(chain, ChainSpec::parse("2|1,3").unwrap());
}
