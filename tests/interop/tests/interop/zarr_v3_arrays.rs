//! Arrays of Zarr v3 with codecs that change types and fill values, or pack bits: zarr-python's as they are stored, and
//! what `ncz copy` writes of them with other codecs.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{Elements, Pool, Session, Slab};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use serde_json::{Value, json};

use crate::harness::{builtins, explained, ncz, ncz_ok};

/// The array at `path`, which is a dataset by itself or in one.
fn read(path: &Path, name: &str) -> Result<Vec<u8>, String> {
    let store = Arc::new(FileStore::open(path, Access::Read).unwrap());
    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    let dataset =
        Dataset::open(store, session, &ReadOptions::default()).map_err(|error| explained(&error))?;
    let array = dataset.array(&format!("/{name}")).map_err(|error| explained(&error))?;
    let elements: u64 = array.shape().iter().product();
    let mut bytes = vec![0; elements as usize * array.dtype().size()];
    array
        .read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut bytes)
        .map_err(|error| explained(&error))?;
    Ok(bytes)
}

/// A group around the stored arrays, and their names.
fn stored() -> (tempfile::TempDir, Vec<String>) {
    let folder = ncz_test_support::unpack("codecs/v3/arrays.zip").unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    std::fs::write(folder.path().join("zarr.json"), group.to_string()).unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("zarr.json").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    (folder, names)
}

#[test]
fn v3_arrays_of_zarr_python_with_other_types_and_fill_values_inside_are_read() {
    let (folder, names) = stored();
    assert_eq!(names.len(), 20);
    for name in &names {
        let raw = std::fs::read(folder.path().join(format!("{name}.raw"))).unwrap();
        assert!(read(folder.path(), name).unwrap_or_else(|error| panic!("{name}: {error}")) == raw, "{name}");
    }
    let root = folder.path().to_str().unwrap();
    ncz_ok(&["verify", root]);
    let dump = ncz_ok(&["dump", "-v", "/nan-to-0-plain", root]).stdout_text();
    assert!(dump.contains("nan-to-0-plain =") && dump.contains("NaN"), "{dump}");
}

#[test]
fn v3_arrays_that_ncz_copies_with_these_codecs_hold_the_same_values() {
    let (folder, _) = stored();
    let beside = tempfile::tempdir().unwrap();
    let copied = beside.path().join("copied");
    let bits =
        json!([{"name": "packbits", "configuration": {"padding_encoding": "last_byte", "last_bit": 11}}]);
    let cases: [(&str, Value); 5] = [
        (
            "offset-to-uint8-plain",
            json!([
                {"name": "scale_offset", "configuration": {"offset": 1000}},
                {"name": "cast_value", "configuration": {"data_type": "uint8"}},
                {"name": "packbits", "configuration": {"last_bit": 6}},
                {"name": "crc32c"}
            ]),
        ),
        (
            "float-to-int16-sharded",
            json!([
                {"name": "cast_value", "configuration": {"data_type": "float16"}}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}
            ]),
        ),
        ("offset-to-uint8-turned", bits),
        ("no-factors-plain", json!([{"name": "zfp", "configuration": {"mode": "reversible"}}])),
        (
            "clamped-plain",
            json!([
                {"name": "cast_value", "configuration": {"data_type": "float64"}}, {"name": "numcodecs.pcodec", "configuration": {}}
            ]),
        ),
    ];
    let mut args: Vec<String> =
        ["copy", folder.path().to_str().unwrap(), copied.to_str().unwrap(), "--quiet"]
            .map(str::to_owned)
            .to_vec();
    for (name, codecs) in &cases {
        args.extend(["--codec".to_owned(), format!("{name}={codecs}")]);
    }
    ncz_ok(&args);
    for (name, codecs) in &cases {
        let metadata = std::fs::read(copied.join(name).join("zarr.json")).unwrap();
        let metadata: Value = serde_json::from_slice(&metadata).unwrap();
        let text = metadata["codecs"].to_string();
        for codec in codecs.as_array().unwrap() {
            assert!(text.contains(&format!("\"name\":{}", codec["name"])), "{name}: {text}");
        }
        // A codec that occurs twice would be a wrong pipeline.
        let whole = text.contains("\"packbits\"") || text.contains("\"zfp\"") || text.contains("pcodec");
        assert_eq!(
            text.matches("\"bytes\"").count(),
            usize::from(!whole) + usize::from(name.contains("sharded")),
            "{text}"
        );
        let raw = std::fs::read(folder.path().join(format!("{name}.raw"))).unwrap();
        assert!(read(&copied, name).unwrap_or_else(|error| panic!("{name}: {error}")) == raw, "{name}");
    }
    ncz_ok(&["verify", copied.to_str().unwrap()]);
}

#[test]
fn v3_codecs_that_version_2_and_fill_values_do_not_have_are_refused_by_name() {
    let (folder, _) = stored();
    let refused = |source: &Path, format: &str, codec: &[&str]| {
        let target = folder.path().join("refused");
        let mut args = vec!["copy", source.to_str().unwrap(), target.to_str().unwrap(), "--format", format];
        args.extend(codec);
        let output = ncz(&args);
        assert!(!output.status.success(), "{args:?}");
        assert!(!target.exists());
        output.text()
    };
    for (name, codec) in [("scaled-plain", "scale_offset"), ("clamped-plain", "cast_value")] {
        let error = refused(&folder.path().join(name), "zarr", &[]);
        assert!(error.contains(codec), "{error}");
    }
    let cast = r#"{"name":"cast_value","configuration":{"data_type":"uint8"}}"#;
    let error = refused(&folder.path().join("nan-to-0-plain"), "zarr3", &["--codec", cast]);
    assert!(
        error.contains("cast_value") && error.contains("fill value NaN") && error.contains("scalar_map"),
        "{error}"
    );
}
