use std::fs;

use ncz_test_support::unpack;

use crate::bench::{command, ncz, ocean, run};

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
        ("b.nc", &b"CDF\x01rest"[..], &["b.nc"][..]),
        ("c.zip", b"PK\x03\x04rest", &["c.zip", "archive"]),
        ("d.txt", b"hello", &["is a file, but not a dataset", "\\x89HDF", "CDF", "a zip file"]),
        ("e.nc", b"", &["is an empty file"]),
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
fn a_directory_that_is_not_a_dataset_names_those_inside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    ncz(["info", path]).ends(3).says(&["is a directory, but not a Zarr dataset", ".zgroup"]);
    let inside = folder.path().join("inner.zarr");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join(".zgroup"), "{}").unwrap();
    ncz(["info", path]).ends(3).says(&["there are some inside", "inner.zarr"]);
}

#[test]
fn a_root_of_both_versions_is_refused_unless_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::write(folder.path().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    assert!(ncz(["info", path]).ends(0).stdout.contains("Zarr version 3"));
    fs::write(folder.path().join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    ncz(["info", path]).ends(3).says(&["zarr.json", ".zgroup", "v2", "v3"]);
    for (word, wanted) in [("v2", "Zarr version 2"), ("v3", "Zarr version 3")] {
        let run = ncz(["info".to_owned(), format!("{path}#mode={word}")]).ends(0);
        assert!(run.stdout.contains(wanted), "{}", run.stdout);
    }
}

#[test]
fn a_zip_file_is_read_and_written_as_a_directory_is() {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ocean = ocean().to_str().unwrap().to_owned();
    let dump = |path: &str| ncz(["dump", "-n", "ocean", path]).ends(0).stdout;
    ncz(["copy", &ocean, &target("a.zip"), "--verify"]).ends(0);
    ncz(["copy", &target("a.zip"), &target("b.zarr"), "--verify"]).ends(0);
    ncz(["copy", &target("b.zarr"), &format!("{}#mode=zip", target("c.archive"))]).ends(0);
    for name in ["a.zip", "b.zarr", "c.archive"] {
        assert_eq!(dump(&target(name)), dump(&ocean), "{name}");
    }
    assert!(fs::metadata(target("a.zip")).unwrap().is_file());
    ncz(["copy", &ocean, &target("a.zip")]).ends(3).says(&["--overwrite"]);
    ncz(["copy", &ocean, &target("a.zip"), "--overwrite"]).ends(0);
    ncz(["copy", &ocean, &target("b.zarr"), "--overwrite"]).ends(0);
    ncz(["info".to_owned(), format!("{}#mode=file", target("a.zip"))])
        .ends(3)
        .says(&["is a zip file, but the mode after # says file"]);
    ncz(["info".to_owned(), format!("{ocean}#mode=zip")]).ends(3).says(&["is a directory, but", "zip"]);
}

#[test]
fn a_copy_in_version_3_holds_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ocean = ocean().to_str().unwrap().to_owned();
    for (name, format) in [("v3.zarr", "zarr3"), ("v3.zip", "zarr3"), ("draft.zarr", "nczarr3")] {
        ncz(["copy", &ocean, &target(name), "--format", format, "--verify"]).ends(0);
        ncz(["copy", &target(name), &target(&format!("{name}.v2")), "--format", "nczarr", "--verify"])
            .ends(0);
    }
    let draft = ncz(["info".to_owned(), format!("{}#mode=nczarr,v3", target("draft.zarr"))]).ends(0);
    assert!(draft.stdout.contains("experimental"), "{}", draft.stdout);
}

#[test]
fn urls_are_read_where_they_mean_a_directory_and_refused_by_name_elsewhere() {
    let url = |mode: &str| format!("file://{}#mode={mode}", ocean().display());
    let as_nczarr = ncz(["info".to_owned(), url("nczarr,file")]).ends(0);
    assert!(as_nczarr.stdout.contains("/model/salinity"), "{}", as_nczarr.stdout);
    let as_zarr = ncz(["info".to_owned(), url("zarr,file")]);
    assert!(as_zarr.stdout.contains("Zarr version 2"), "{}", as_zarr.stdout);
    for (place, wanted) in [
        (url("nczarr,s3"), "a path is not in S3"),
        (url("bogus"), "mode word \"bogus\" is not known"),
        (url("bytes,nczarr"), "contradicts \"nczarr\""),
        ("dods://example.org/x".to_owned(), "OPeNDAP is not supported yet"),
        ("gopher://x".to_owned(), "\"gopher\" is not a supported scheme"),
        ("s3://bucket/x#aws.profil=me".to_owned(), "did you mean \"aws.profile\"?"),
        ("s3://bucket/x#mode=zip".to_owned(), "a zip file is read and written on this machine only"),
        ("s3://localhost:9000/x".to_owned(), "https://localhost:9000/BUCKET/KEY#mode=s3"),
    ] {
        ncz(["info".to_owned(), place]).ends(2).says(&[wanted]);
    }
}

#[test]
fn an_unwritable_target_is_reported_before_anything_is_read() {
    let copy = |target: &str| ncz(["copy", "/nowhere/x.zarr", target]);
    copy("https://localhost:1/x").ends(3).says(&["https://localhost:1/x cannot be written", "#mode=s3"]);
    copy("s3://bucket/x.zip").ends(2).says(&["not a .zip file", ".zarr"]);
    ncz(["copy", "s3://bucket/a", "s3://bucket/a/b"]).ends(2).says(&["the target is inside the source"]);
    ncz(["verify", ocean().to_str().unwrap(), "--repair-to", "http://localhost:1/x"])
        .ends(3)
        .says(&["cannot be written"]);
}

#[test]
fn an_rc_file_that_is_wrong_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let rc = folder.path().join(".ncrc");
    fs::write(&rc, "# mine\nHTTP.SSL.VALIDATE=0\n").unwrap();
    let run = run(command().args(["info", "s3://bucket/x"]).env("NCRCENV_RC", &rc)).ends(3);
    run.says(&[&format!("{}:2: SSL.VALIDATE=0 would trust anybody", rc.display()), "SSL.CAINFO"]);
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
        .says(&["would lack /t, which cannot be read"]);
    assert_eq!(fs::read_dir(beside.path()).unwrap().count(), 0);
}

#[test]
fn an_array_of_the_other_version_is_not_skipped_as_a_foreign_object() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("mixed.zarr");
    fs::create_dir_all(root.join("v")).unwrap();
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(root.join("v/zarr.json"), r#"{"zarr_format": 3, "node_type": "array"}"#).unwrap();
    let target = folder.path().join("copy.zarr");
    ncz(["copy", root.to_str().unwrap(), target.to_str().unwrap()])
        .ends(3)
        .says(&["would lack \"v\"", "other version of Zarr"]);
    assert!(!target.exists());
}

#[test]
fn a_scalar_of_nczarr_has_no_dimension_in_a_copy_for_zarr() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.zarr");
    let source = unpack("netcdf-c-4.10.2/nczarr/scalars.zip").unwrap();
    ncz(["copy", source.path().to_str().unwrap(), target.to_str().unwrap(), "--format", "zarr"]).ends(0);
    let mut scalars = 0;
    for entry in fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(zarray) = fs::read_to_string(entry.join(".zarray")) else { continue };
        if zarray.contains(r#""shape": []"#) {
            let zattrs = fs::read_to_string(entry.join(".zattrs")).unwrap();
            assert!(zattrs.contains(r#""_ARRAY_DIMENSIONS": []"#), "{zattrs}");
            scalars += 1;
        }
    }
    assert!(scalars > 0);
}

#[test]
fn a_mode_that_does_not_fit_is_named() {
    let path = ocean().to_str().unwrap().to_owned();
    ncz(["info".to_owned(), format!("{path}#mode=v3")]).ends(3).says(&["version 3", ".zgroup"]);
    ncz(["info".to_owned(), format!("{path}#foo=bar")]).ends(3).says(&["after #", "nczarr, zarr"]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    ncz(["info".to_owned(), format!("{}#mode=v2", folder.path().display())])
        .ends(3)
        .says(&["version 2", "zarr.json"]);
}

#[test]
fn a_dataset_with_other_files_beside_it_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy.nczarr");
    let copy = || ncz(["copy", ocean().to_str().unwrap(), target.to_str().unwrap(), "--overwrite"]);
    copy().ends(0);
    copy().ends(0);
    fs::write(target.join("notes.txt"), "mine").unwrap();
    copy().ends(3).says(&["copy.nczarr", "holds other files beside the dataset"]);
    assert_eq!(fs::read_to_string(target.join("notes.txt")).unwrap(), "mine");
}
