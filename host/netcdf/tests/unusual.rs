//! HDF5 files that few programs write, compared with what h5py and netCDF4 read from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ncz_deflate as _;
use ncz_fletcher32 as _;
use ncz_model::{Container, DataError, Elements, Format, Pool, Session, Slab, Value};
use ncz_netcdf::NetcdfFile;
use ncz_registry::Registry;
use ncz_shuffle as _;
use ncz_store::testing::{Counting, Remote};
use ncz_store::{Access, FileStore, KeyBuf, MemoryStore, Store, WriteMode};
use ncz_test_support::python;
use proptest as _;
use serde_json::Value as Json;

/// The folder with the files, and what other programs read; `None` without Python.
fn written() -> Option<(&'static Path, &'static Json)> {
    static FOLDER: OnceLock<Option<(tempfile::TempDir, Json)>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unusual.py");
        python.run(&script, &[folder.path()], &[]).unwrap();
        let contents = std::fs::read(folder.path().join("contents.json")).unwrap();
        Some((folder, serde_json::from_slice(&contents).unwrap()))
    });
    made.as_ref().map(|(folder, contents)| (folder.path(), contents))
}

fn open_in(store: Arc<dyn Store>, name: &str) -> Result<NetcdfFile, DataError> {
    let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
    NetcdfFile::open(store, KeyBuf::parse(name).unwrap(), session)
}

fn open(folder: &Path, name: &str) -> NetcdfFile {
    open_in(Arc::new(FileStore::open(folder, Access::Read).unwrap()), name).unwrap()
}

fn strings(file: &NetcdfFile, path: &str) -> Vec<String> {
    let shape = &file.hierarchy().variable(path).unwrap().shape;
    let read = file.strings(path).unwrap().read(&Slab::whole(shape)).unwrap();
    read.iter().map(|text| String::from_utf8(text.to_vec()).unwrap()).collect()
}

fn bytes(file: &NetcdfFile, path: &str) -> Vec<u8> {
    let array = file.array(path).unwrap();
    let slab = Slab::whole(&file.hierarchy().variable(path).unwrap().shape);
    let mut out = vec![0x55; slab.elements().unwrap() as usize * array.dtype().size()];
    array.read_bytes(&slab, Elements::Native, &mut out).unwrap();
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap()).collect();
    digits.into_iter().map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Compares the datasets of a file that h5py reads, but those that are `left_out`.
fn compare(folder: &Path, contents: &Json, name: &str, left_out: &[&str]) -> NetcdfFile {
    let file = open(folder, name);
    let expected = contents["h5py"][name].as_object().unwrap();
    for (path, expected) in expected.iter().filter(|(path, _)| !left_out.contains(&path.as_str())) {
        match expected["strings"].as_array() {
            Some(expected) => {
                let expected: Vec<&str> = expected.iter().map(|text| text.as_str().unwrap()).collect();
                assert_eq!(strings(&file, path), expected, "{name}:{path}");
            }
            None => {
                let shape = expected["shape"].as_array().unwrap().iter().map(|len| len.as_u64().unwrap());
                let shape: Vec<u64> = shape.collect();
                assert_eq!(file.hierarchy().variable(path).unwrap().shape, shape, "{name}:{path}");
                assert_eq!(bytes(&file, path), hex(expected["bytes"].as_str().unwrap()), "{name}:{path}");
            }
        }
    }
    file
}

fn warnings(file: &NetcdfFile) -> Vec<String> {
    file.hierarchy().warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn external_links_lead_to_files_in_the_same_folder_and_below_it() {
    let Some((folder, contents)) = written() else { return };
    // A group or object that has a name of its own is shown there only.
    let file = compare(folder, contents, "links/main.h5", &["/outside", "/absolute"]);
    let of = |path: &str| {
        file.hierarchy()
            .variable(path)
            .unwrap()
            .attributes
            .iter()
            .find(|found| found.name == "words")
            .cloned()
    };
    let words = |words: &[&str]| Value::String(words.iter().map(|word| word.as_bytes().to_vec()).collect());
    // Both attributes are in heaps at the same address, each of its own file.
    assert_eq!(of("/own").unwrap().value, words(&["of", "main", "file"]));
    assert_eq!(of("/dataset").unwrap().value, words(&["of", "other"]));
    let warnings = warnings(&file);
    for (path, text) in [
        ("/nowhere", "which does not have it"),
        ("/no_file", "that file does not exist"),
        ("/not_hdf5", "is not an HDF5 file"),
        ("/outside", "only links to files in the same folder or below it"),
        ("/absolute", "only links to files in the same folder or below it"),
        ("/remote", "only links to files in the same folder or below it"),
        ("/around", "which does not have it"),
        ("/group/back", "another name of the group \"/\""),
    ] {
        let found = warnings.iter().filter(|warning| warning.starts_with(&format!("{path}: ")));
        let found: Vec<_> = found.collect();
        assert!(found.len() == 1 && found[0].contains(text), "{path}: {found:?}");
    }
}

#[test]
fn external_links_of_a_remote_file_are_refused_by_name() {
    let Some((folder, _)) = written() else { return };
    let store = MemoryStore::new("memory");
    for name in ["main.h5", "other.h5"] {
        let bytes = std::fs::read(folder.join("links").join(name)).unwrap();
        store.write(KeyBuf::parse(name).unwrap().as_key(), &bytes, WriteMode::Replace).unwrap();
    }
    let file = open_in(Arc::new(Remote::new(Counting::new(store))), "main.h5").unwrap();
    assert!(file.hierarchy().variable("/dataset").is_err());
    let text = "/dataset: a link to \"/g/h/x\" of the file \"other.h5\", which is not followed: links to other files";
    assert!(warnings(&file).iter().any(|warning| warning.contains(text)), "{:?}", warnings(&file));
}

#[test]
fn the_links_of_a_group_are_read_once_for_all_soft_links_through_it() {
    let Some((folder, _)) = written() else { return };
    let start = Instant::now();
    let file = open(folder, "soft.h5");
    assert_eq!(file.hierarchy().variables().count(), 8001);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_soft_link_to_a_group_is_named_and_its_content_is_shown_once() {
    let Some((folder, contents)) = written() else { return };
    let file = compare(folder, contents, "soft_group.h5", &["/a/x"]);
    assert!(file.hierarchy().variable("/a/x").is_err());
    let found = warnings(&file);
    assert!(found.iter().any(|warning| warning.starts_with("/a: a soft link to a group")), "{found:?}");
}

#[test]
fn strings_of_a_fixed_length_end_where_their_padding_begins() {
    let Some((folder, contents)) = written() else { return };
    // h5py leaves out blanks at the end, netCDF4 keeps them.
    let file = compare(folder, contents, "strings.h5", &["/spacepad", "/spacepad_chunks"]);
    for name in ["nullterm", "nullterm_chunks"] {
        assert_eq!(serde_json::json!(strings(&file, name)), contents["netcdf"][name]);
    }
    assert_eq!(strings(&file, "/spacepad")[1..], ["abcde", "", "a", "a b  ", "     "]);
    for variable in file.hierarchy().variables() {
        let Value::String(attribute) = &variable.attributes[0].value else { panic!("{variable:?}") };
        let attribute: Vec<String> =
            attribute.iter().map(|text| String::from_utf8(text.clone()).unwrap()).collect();
        assert_eq!(attribute, strings(&file, &variable.path), "{}", variable.path);
    }
}

#[test]
fn complex_fill_values_are_read() {
    let Some((folder, contents)) = written() else { return };
    let file = compare(folder, contents, "fills.h5", &[]);
    let fill = file.hierarchy().variable("/c8").unwrap().fill.as_ref().unwrap();
    assert_eq!(ncz_model::json::to_text(fill.json()), "[1.5,-2.0]");
}

#[test]
fn shuffles_of_parts_of_elements_are_not_written_in_zarr() {
    let Some((folder, contents)) = written() else { return };
    let file = compare(folder, contents, "filters.h5", &[]);
    let ids = |name: &str| {
        let variable = file.hierarchy().variable(name).unwrap();
        let codecs = file.agreed_filters(variable, Format::Zarr2).unwrap();
        let ids = codecs.iter().map(|codec| codec.get("id").unwrap().as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    // numcodecs refuses to shuffle bytes that are not whole elements.
    assert_eq!(ids("/after_deflate"), "shuffle zlib");
    assert_eq!(ids("/between"), "shuffle zlib");
    assert_eq!(ids("/after_sum_8"), "shuffle fletcher32 zlib");
    assert_eq!(ids("/after_sum_4"), "fletcher32 shuffle zlib");
    assert_eq!(ids("/usual"), "shuffle zlib fletcher32");
}

#[test]
fn a_name_with_a_slash_is_left_out_by_name() {
    let Some((folder, _)) = written() else { return };
    let file = open(folder, "slash.h5");
    let names: Vec<&str> = file.hierarchy().variables().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["aXb", "x"]);
    assert_eq!(file.hierarchy().variable("/aXb").unwrap().attributes[0].name, "a/b");
    let found = warnings(&file);
    assert!(found.iter().any(|warning| warning.contains("\"one/two\" is left out")), "{found:?}");
}

#[test]
fn a_file_after_a_block_of_json_is_an_hdf5_file() {
    let Some((folder, contents)) = written() else { return };
    compare(folder, contents, "block.h5", &[]);
}

#[test]
fn a_scale_of_another_length_does_not_change_the_shape() {
    let Some((folder, contents)) = written() else { return };
    let file = compare(folder, contents, "scales.h5", &[]);
    let dimension = |path: &str| file.hierarchy().variable(path).unwrap().dimensions[0].name.clone();
    assert_eq!(dimension("/equal"), "x");
    assert!(dimension("/longer").starts_with("phony_dim_"), "{}", dimension("/longer"));
    let found = warnings(&file);
    assert!(found.iter().any(|warning| warning.contains("has the scale \"x\" of length 3")), "{found:?}");
}
