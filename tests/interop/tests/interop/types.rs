//! Types that netCDF lacks, and strings, through our CDL, our copies and our own writing, as other programs read them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ncz::model::{Format, Hierarchy, NcType, Pool, Session, Slab, VariableBuilder};
use ncz::store::{CreateOptions, FileStore};
use ncz::zarr::Dataset;
use ncz_test_support::{Python, fixtures, program, python, run, unpack};

use crate::harness::{builtins, explained, ncz_ok, run_json, run_script};

/// The output of a script, which is empty if nothing differs.
fn differences(python: &Python, args: &[&str]) -> String {
    run_script(python, "odd_types.py", args, None).success("odd_types.py").unwrap().stdout_text()
}

/// Prints a dataset and makes a netCDF-4 file of the text.
fn through_ncgen(ncgen: &Path, dataset: &Path, folder: &Path) -> String {
    let text = ncz_ok(&["dump", dataset.to_str().unwrap()]).stdout_text();
    let (cdl, file) = (folder.join("d.cdl"), folder.join("d.nc"));
    std::fs::write(&cdl, &text).unwrap();
    let mut command = Command::new(ncgen);
    command.args(["-4", "-o"]).args([&file, &cdl]);
    run(&mut command, Duration::from_secs(60))
        .unwrap()
        .success("ncgen")
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.display().to_string()
}

#[test]
fn what_netcdf_lacks_comes_through_our_cdl_and_ncgen_unchanged() {
    let (Ok(python), Ok(ncgen)) = (python(), program("ncgen")) else { return };
    let folder = tempfile::tempdir().unwrap();
    for dtype in ["b1", "le-f2", "le-c8", "le-c16", "le-M8-ns", "le-m8-s", "le-U5", "S7", "be-i8", "le-u8"] {
        let dataset = unpack(format!("zarr-python/v2-dtype-{dtype}.zip")).unwrap();
        let file = through_ncgen(&ncgen, dataset.path(), folder.path());
        let values = fixtures().join(format!("zarr-python/v2-dtype-{dtype}.npz")).display().to_string();
        assert_eq!(differences(&python, &["netcdf", &file, &values]), "", "{dtype}");
    }
}

#[test]
fn strings_of_any_length_come_through_our_cdl_and_ncgen() {
    let (Ok(python), Ok(ncgen)) = (python(), program("ncgen")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let dataset = unpack("strings/v2.zip").unwrap();
    // A byte that is not UTF-8, which netCDF4-python refuses to make a string of.
    std::fs::remove_dir_all(dataset.path().join("s7")).unwrap();
    let text = std::fs::read_to_string(fixtures().join("strings/values.json")).unwrap();
    let mut values: serde_json::Value = serde_json::from_str(&text).unwrap();
    values["v2"].as_object_mut().unwrap().remove("s7");
    let json = folder.path().join("values.json");
    std::fs::write(&json, values.to_string()).unwrap();
    let file = through_ncgen(&ncgen, dataset.path(), folder.path());
    assert_eq!(differences(&python, &["netcdf", &file, &format!("{}:v2", json.display())]), "");
}

#[test]
fn copies_of_strings_are_read_by_zarr_python() {
    let Ok(python) = python() else { return };
    let values = fixtures().join("strings/values.json").display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let source = unpack("strings/v2.zip").unwrap();
    let source = source.path().to_str().unwrap();
    for (number, options) in
        [&[][..], &["--compress"], &["-c", "plain:3,1", "-c", "missing:1", "--codec", "zlib"]]
            .into_iter()
            .enumerate()
    {
        let copy = folder.path().join(number.to_string()).display().to_string();
        ncz_ok(&[&["copy", source, &copy, "-q", "--verify"], options].concat());
        assert_eq!(differences(&python, &["zarr", &copy, &values, "v2"]), "", "{options:?}");
    }
}

#[test]
fn text_of_any_length_copied_to_nczarr_is_read_by_netcdf_c() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let (source, copy) = (source.to_str().unwrap(), copy.to_str().unwrap());
    assert_eq!(differences(&python, &["make", source]), "");
    ncz_ok(&["copy", source, copy, "--format", "nczarr", "-q", "--verify"]);
    let zarray = std::fs::read_to_string(folder.path().join("copy/text/.zarray")).unwrap();
    assert!(zarray.contains("\"|S34\""), "{zarray}");
    let read = run_json(&python, "odd_types.py", &["strings", copy], None);
    let texts = ["one", "", "dr\u{ed}", "a much longer text than the others", "\u{1f600}"];
    assert_eq!(read["text"], serde_json::json!(texts));
}

#[test]
fn strings_and_chars_that_we_write_are_read_by_netcdf_c() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 3, false).unwrap();
    let string = VariableBuilder::new("s", NcType::String).string_length(5).dimensions(["x"]).chunks([2]);
    hierarchy.add_variable("/", string).unwrap();
    hierarchy.add_variable("/", VariableBuilder::new("c", NcType::Char).dimensions(["x"])).unwrap();
    let session = Session::new(std::sync::Arc::new(builtins()), Pool::serial());
    let store = std::sync::Arc::new(FileStore::create(&path, CreateOptions::default()).unwrap());
    let dataset = Dataset::create(store, hierarchy, session, false)
        .unwrap_or_else(|error| panic!("{}", explained(&error)));
    let slab = Slab::whole(&[3]);
    dataset.strings("s").unwrap().write(&slab, &["abcde", "", "äö"]).unwrap();
    dataset.array("c").unwrap().write_bytes(&slab, ncz::model::Elements::Native, b"x\0z").unwrap();
    dataset.finish().unwrap();
    let read = run_json(&python, "odd_types.py", &["strings", path.to_str().unwrap()], None);
    assert_eq!(read, serde_json::json!({"s": ["abcde", "", "äö"], "c": ["x", "", "z"]}));
}
