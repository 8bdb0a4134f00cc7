use std::fs;
use std::path::PathBuf;

use ncz_test_support::unpack;
use tempfile::TempDir;

use crate::bench::{command, ncz, ocean};

/// A dataset with a matrix `m(y, x)` of 0 to 11 and texts.
fn matrix() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("m.zarr");
    for (name, dtype, shape, chunks, bytes) in [
        (
            "m",
            "<i2",
            "[3, 4]",
            "[2, 4]",
            vec![
                (0u8..8).flat_map(|n| [n, 0]).collect::<Vec<u8>>(),
                (8u8..16).flat_map(|n| [n, 0]).collect(),
            ],
        ),
        ("s", "|S3", "[2]", "[2]", vec![b"a,b\"q\0".to_vec()]),
    ] {
        let array = root.join(name);
        fs::create_dir_all(&array).unwrap();
        let zarray = format!(
            r#"{{"zarr_format": 2, "shape": {shape}, "chunks": {chunks}, "dtype": "{dtype}", "fill_value": null, "order": "C", "compressor": null, "filters": null}}"#
        );
        fs::write(array.join(".zarray"), zarray).unwrap();
        for (at, chunk) in bytes.into_iter().enumerate() {
            fs::write(array.join(if name == "m" { format!("{at}.0") } else { "0".to_owned() }), chunk)
                .unwrap();
        }
    }
    fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(root.join("m/.zattrs"), r#"{"_ARRAY_DIMENSIONS": ["y", "x"]}"#).unwrap();
    (folder, root)
}

#[test]
fn rows_are_lines_and_slabs_are_parts_of_them() {
    let (_folder, path) = matrix();
    let cat = |args: &[&str]| {
        let mut all = vec!["cat", path.to_str().unwrap()];
        all.extend(args);
        ncz(all).ends(0).stdout
    };
    assert_eq!(cat(&["m"]), "0,1,2,3\n4,5,6,7\n8,9,10,11\n");
    assert_eq!(cat(&["/m", "--slab", "x=1:3,y=-1"]), "9,10\n");
    assert_eq!(cat(&["m", "--slab", "y=::2,x=::3"]), "0,3\n8,11\n");
    assert_eq!(cat(&["m", "--slab", "x=0"]), "0\n4\n8\n");
    assert_eq!(cat(&["m", "-1", "--slab", "y=0"]), "0\n1\n2\n3\n");
    assert_eq!(cat(&["m", "--json", "--slab", "y=1:3"]), "[[4,5,6,7],[8,9,10,11]]\n");
    assert_eq!(cat(&["s"]), "\"a,b\"\n\"\"\"q\"\n");
    assert_eq!(cat(&["s", "--json"]), "[\"a,b\",\"\\\"q\"]\n");
}

#[test]
fn bytes_come_in_the_order_that_is_asked_for() {
    let (_folder, path) = matrix();
    let raw = |order: &str| {
        let args = ["cat", path.to_str().unwrap(), "m", "--raw", "--slab", "y=0,x=1:3", "--order", order];
        let output = command().args(args).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    assert_eq!(raw("little"), [1, 0, 2, 0]);
    assert_eq!(raw("big"), [0, 1, 0, 2]);
    assert_eq!(raw("native"), [1i16.to_ne_bytes(), 2i16.to_ne_bytes()].concat());
}

#[test]
fn wrong_names_and_slabs_are_reported_with_the_right_ones() {
    let path = ocean();
    let path = path.to_str().unwrap();
    ncz(["cat", path, "tme"]).ends(2).says(&["no variable \"tme\"", "did you mean \"/time\"?"]);
    ncz(["cat", path, "time", "--slab", "tim=1"]).ends(2).says(&[
        "--slab \"tim=1\"",
        "no dimension \"tim\"",
        "did you mean \"time\"?",
    ]);
    ncz(["cat", path, "time", "--slab", "time=100000"])
        .ends(2)
        .says(&["index 100000 is outside dimension \"time\", whose length is 16"]);
    ncz(["cat", path, "time", "--slab", "time"]).ends(2).says(&["is not DIM=START:STOP"]);
    ncz(["cat", path, "time", "--slab", ""]).ends(2).says(&["is not DIM=START:STOP"]);
    ncz(["cat", path, "time", "--raw", "--json"]).ends(2);
}

#[test]
fn letters_make_texts_and_a_name_of_several_groups_needs_its_path() {
    let folder = unpack("netcdf-c-4.10.2/nczarr/types.zip").unwrap();
    let path = folder.path().to_str().unwrap();
    let dump = ncz(["dump", "--json", path]).ends(0).json();
    let variables = dump["variables"].as_array().unwrap();
    for variable in variables {
        let name = variable["name"].as_str().unwrap();
        let cat = ncz(["cat", path, name, "--json"]).ends(0).json();
        assert_eq!(cat, variable["data"], "{name}");
    }
    assert!(variables.iter().any(|variable| variable["type"] == "char"));
    let groups = unpack("netcdf-c-4.10.2/nczarr/groups.zip").unwrap();
    let path = groups.path().to_str().unwrap();
    let listed = ncz(["ls", "-R", "--json", path]).ends(0).json();
    let paths: Vec<&str> =
        listed["variables"].as_array().unwrap().iter().map(|v| v["path"].as_str().unwrap()).collect();
    for path_ in &paths {
        ncz(["cat", path, path_]).ends(0);
    }
}
