//! `--shards`: chunks in shards of Zarr version 3, as zarr-python and xarray see them.

use std::path::Path;

use ncz_test_support::python;

use crate::bench::{ncz, ocean};

const READ: &str = r#"
import json, sys, numpy as np, xarray, zarr
copy = zarr.open_group(sys.argv[1], mode="r")
with xarray.open_dataset(sys.argv[2], engine="netcdf4") as source, xarray.open_zarr(sys.argv[1], consolidated=False) as read:
    for name in source.variables:
        assert np.array_equal(source[name].values, read[name].values, equal_nan=source[name].dtype.kind == "f"), name
names = ["air_temperature", "sea_surface_temperature", "lat", "model/salinity"]
print(json.dumps({name: [copy[name].shards, copy[name].chunks] for name in names}))
"#;

#[test]
fn chunks_are_grouped_into_shards_and_out_of_them_again() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    ncz([Path::new("copy"), &ocean(), Path::new(&at("in.nc"))]).ends(0);
    let shards = |target: &str, options: &[&str]| {
        let copy = ["copy", &at("in.nc"), &at(target), "--format", "zarr3", "--verify"];
        ncz(copy.iter().chain(options)).ends(0);
        let read = python.run_code(READ, &[at(target), at("in.nc")], &[]).unwrap().stdout_text();
        serde_json::from_str::<serde_json::Value>(&read).unwrap()
    };
    // Lengths become those of whole chunks, and end with the chunk that holds the end of the array.
    let found = shards("dims.zarr", &["-c", "time/2,lat/20,lon/50", "--shards", "time/3,lat/"]);
    let expected = serde_json::json!({
        "air_temperature": [[4, 80, 50], [2, 20, 50]],
        "sea_surface_temperature": [[4, 80, 50], [2, 20, 50]],
        "lat": [[80], [20]],
        "model/salinity": found["model/salinity"],
    });
    assert_eq!(found, expected);
    let named =
        shards("named.zarr", &["-c", "air_temperature:1,73,72", "--shards", "air_temperature:8,73,144"]);
    assert_eq!(named["air_temperature"], serde_json::json!([[8, 73, 144], [1, 73, 72]]));
    assert_eq!(named["sea_surface_temperature"][0], serde_json::Value::Null);
    // There is room for records that will be appended.
    let long = shards("long.zarr", &["-c", "time/2", "--shards", "time/100"]);
    assert_eq!(long["air_temperature"][0][0], 100);
    // One object for each shard, and the same chunks in both.
    let objects = std::fs::read_dir(at("named.zarr/air_temperature/c")).unwrap().count();
    assert_eq!(objects, 2);

    // From shards to other shards, to none, and to formats without.
    let copy = |target: &str, options: &[&str]| {
        let command = ["copy", &at("named.zarr"), &at(target), "--verify"];
        ncz(command.iter().chain(options))
    };
    copy("other.zarr", &["--shards", "air_temperature:3,73,144"]).ends(0);
    copy("none.zarr", &["--shards", "none"]).ends(0);
    let info = ncz(["info", "--json", &at("none.zarr")]).ends(0).json();
    assert!(info["variables"].as_array().unwrap().iter().all(|variable| variable["shards"].is_null()));
    copy("back.nc", &[]).ends(0);
    let refused = copy("two.zarr", &["--format", "zarr", "--shards", "time/4"]).ends(2);
    refused.says(&["only Zarr version 3 has shards", "--format zarr3"]);
    copy("wrong.zarr", &["--shards", "tmie/4"]).ends(2).says(&["tmie", "time"]);
    copy("wrong.zarr", &["--shards", "air_temperature:4"]).ends(2).says(&["--shards", "expected 3"]);
    assert!(!Path::new(&at("wrong.zarr")).exists());
}
