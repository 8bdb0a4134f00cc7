use std::fs;

use ncz_test_support::unpack;

use crate::bench::{big_dataset, ncz, ocean};

#[test]
fn variables_and_groups_are_listed() {
    let path = ocean();
    let path = path.to_str().unwrap();
    let text = ncz(["ls", path]).ends(0).stdout;
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].starts_with("name "), "{text}");
    assert!(rows.iter().any(|row| row.starts_with("time ") && row.contains("time=")), "{text}");
    assert!(rows.iter().any(|row| row.starts_with("model/") && row.contains("group")), "{text}");
    assert!(!text.contains("salinity"), "{text}");
    let inner = ncz(["ls", "-g", "model", path]).ends(0).stdout;
    assert!(inner.lines().any(|row| row.starts_with("salinity ")), "{inner}");
    let all = ncz(["ls", "-lR", path]).ends(0).stdout;
    assert!(all.lines().any(|row| row.starts_with("/model/salinity ") && row.contains("B")), "{all}");
    ncz(["ls", "-g", "modle", path]).ends(2).says(&["no group \"modle\"", "did you mean \"/model\"?"]);
}

#[test]
fn the_json_form_has_what_the_table_has() {
    let path = ocean();
    let json = ncz(["ls", "-lR", "--json", path.to_str().unwrap()]).ends(0).json();
    assert_eq!((&json["schema"], &json["kind"]), (&1.into(), &"dataset".into()));
    let variables = json["variables"].as_array().unwrap();
    let salinity = variables.iter().find(|variable| variable["path"] == "/model/salinity").unwrap();
    assert!(salinity["stored_bytes"].as_u64().unwrap() > 0 && salinity["shape"].is_array(), "{salinity}");
    assert_eq!(json["groups"], serde_json::json!(["/model"]));
}

#[test]
fn a_folder_says_which_datasets_are_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    big_dataset(&root.join("inner"), 1, 4);
    big_dataset(root, 1, 4);
    let zip = ncz_test_support::fixtures().join("netcdf-c-4.10.2/nczarr/simple.zip");
    fs::copy(zip, root.join("simple.zip")).unwrap();
    fs::write(root.join("README"), "no dataset").unwrap();
    let near = ncz(["ls", root.to_str().unwrap()]).ends(0).stdout;
    let names = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|row| row.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&near), ["big.zarr", "simple.zip"]);
    let deep = ncz(["ls", "-R", root.to_str().unwrap()]).ends(0).stdout;
    assert_eq!(names(&deep), ["big.zarr", "inner/big.zarr", "simple.zip"]);
    let json = ncz(["ls", "-R", "--json", root.to_str().unwrap()]).ends(0).json();
    assert_eq!(json["kind"], "folder");
    assert_eq!(json["datasets"][1]["variables"], 1);

    fs::write(root.join("big.zarr/.zgroup"), "{").unwrap();
    let run = ncz(["ls", root.to_str().unwrap()]).ends(1);
    assert!(run.stdout.contains("cannot be read"), "{}", run.stdout);
}

#[test]
fn a_folder_without_datasets_and_a_path_that_is_none_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    ncz(["ls", folder.path().to_str().unwrap()]).ends(3).says(&["not a Zarr dataset"]);
    ncz(["ls", "nowhere"]).ends(3).says(&["does not exist"]);
    let dataset = unpack("netcdf-c-4.10.2/nczarr/names.zip").unwrap();
    ncz(["ls", dataset.path().to_str().unwrap()]).ends(0);
}
