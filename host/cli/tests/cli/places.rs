use std::fs;

use crate::bench::{ncz, ocean};

#[test]
fn a_path_that_does_not_exist_is_named() {
    for command in ["info", "dump"] {
        let run = ncz([command, "/nowhere/x.zarr"]).ends(3);
        assert_eq!(run.stderr, "error: /nowhere/x.zarr does not exist; check the path\n");
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn other_files_are_refused_with_a_way_round() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, wanted) in [
        (
            "a.nc",
            &b"\x89HDF\r\n\x1a\nrest"[..],
            &[
                "is a netCDF-4 or HDF5 file",
                "nccopy",
                "'file://a.nczarr#mode=nczarr,file'",
                "xarray.open_dataset",
            ][..],
        ),
        ("b.nc", b"CDF\x01rest", &["is a netCDF-3 file", "nccopy"]),
        ("c.zip", b"PK\x03\x04rest", &["is a zip file", "not built yet", "unpack"]),
        ("d.txt", b"hello", &["is a file; a Zarr dataset is a directory"]),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        for command in ["info", "dump"] {
            ncz([command, path.to_str().unwrap()]).ends(3).says(wanted);
        }
        let target = folder.path().join("target");
        ncz(["copy", path.to_str().unwrap(), target.to_str().unwrap()]).ends(3).says(wanted);
        assert!(!target.exists());
    }
}

#[test]
fn a_directory_that_is_no_dataset_tells_of_those_inside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    ncz(["info", path]).ends(3).says(&["is a directory, but no Zarr dataset", ".zgroup"]);
    let inside = folder.path().join("inner.zarr");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join(".zgroup"), "{}").unwrap();
    ncz(["info", path]).ends(3).says(&["there are some inside", "inner.zarr"]);
}

#[test]
fn version_3_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    ncz(["info", folder.path().to_str().unwrap()]).ends(3).says(&["Zarr version 3", "zarr_format=2"]);
}

#[test]
fn urls_are_read_where_they_mean_a_directory_and_refused_by_name_elsewhere() {
    let url = |mode: &str| format!("file://{}#mode={mode}", ocean().display());
    let as_nczarr = ncz(["info".to_owned(), url("nczarr,file")]).ends(0);
    assert!(as_nczarr.stdout.contains("/model/salinity"), "{}", as_nczarr.stdout);
    let as_zarr = ncz(["info".to_owned(), url("zarr,file")]);
    assert!(as_zarr.stdout.contains("Zarr version 2"), "{}", as_zarr.stdout);
    for (place, wanted) in [
        (url("nczarr,zip"), "zip files are not built yet"),
        (url("nczarr,s3"), "S3 are not built yet"),
        (url("bogus"), "mode word \"bogus\" is not known"),
        ("s3://bucket/x".to_owned(), "S3 is not built yet"),
        ("https://example.org/x".to_owned(), "HTTP is not built yet"),
    ] {
        ncz(["info".to_owned(), place]).ends(2).says(&[wanted]);
    }
}

#[test]
fn damaged_metadata_of_the_root_are_an_error_and_those_of_a_variable_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join(".zgroup"), "{not json").unwrap();
    ncz(["info", root.to_str().unwrap()]).ends(3).says(&[".zgroup", "because:"]);

    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::create_dir(root.join("t")).unwrap();
    fs::write(root.join("t/.zarray"), r#"{"zarr_format": 2, "shape": [1152921504606846976, 1152921504606846976], "chunks": [0, 1], "dtype": "<i4", "fill_value": 0, "order": "C", "compressor": null, "filters": null}"#).unwrap();
    let run = ncz(["info", root.to_str().unwrap()]).ends(1);
    assert!(
        run.stdout.contains("warning: variable \"/t\" cannot be read: \"chunks\" in its .zarray"),
        "{}",
        run.stdout
    );
    // What cannot be read cannot be copied, and a copy without it would be a lie.
    let beside = tempfile::tempdir().unwrap();
    let target = beside.path().join("copy.zarr");
    ncz(["copy", root.to_str().unwrap(), target.to_str().unwrap()])
        .ends(3)
        .says(&["would lack a variable", "/t"]);
    assert_eq!(fs::read_dir(beside.path()).unwrap().count(), 0);
}
