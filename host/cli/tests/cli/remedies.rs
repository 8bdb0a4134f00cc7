use std::fs;
use std::path::Path;

use serde_json::json;

use crate::bench::ncz;

/// Writes a dataset of Zarr version 2 with one variable `v(x)` without codecs.
fn store(path: &Path, dtype: &str, values: &[u8], attributes: serde_json::Value) -> String {
    let size = usize::from(dtype.as_bytes()[2] - b'0');
    let zarray = json!({
        "zarr_format": 2, "shape": [values.len() / size], "chunks": [values.len() / size], "dtype": dtype,
        "fill_value": null, "order": "C", "compressor": null, "filters": null,
    });
    let mut attributes = attributes;
    attributes["_ARRAY_DIMENSIONS"] = json!(["x"]);
    fs::create_dir_all(path.join("v")).unwrap();
    fs::write(path.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(path.join("v/.zarray"), zarray.to_string()).unwrap();
    fs::write(path.join("v/.zattrs"), attributes.to_string()).unwrap();
    fs::write(path.join("v/0"), values).unwrap();
    path.to_str().unwrap().to_owned()
}

fn wide(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_format_that_has_the_type_is_named_and_taken() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(&folder.path().join("i8.zarr"), "<i8", &wide(&[1, i64::MAX]), json!({}));
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let refused = ncz(["copy", &source, &at("q.nc"), "--format", "classic"]).ends(3);
    let refused = refused.says(&["remedy: leave out /v with --exclude", "--format netcdf4 or cdf5"]);
    assert!(!refused.stderr.contains("zarr3"), "{}", refused.stderr);
    ncz(["copy", &source, &at("q.nc"), "--format", "netcdf4"]).ends(0);
    // netcdf-c has no complex numbers, in no format.
    let complex = store(&folder.path().join("c8.zarr"), "<c8", &[0; 16], json!({}));
    let refused = ncz(["copy", &complex, &at("c.nczarr"), "--for", "netcdf-c"]).ends(3);
    assert!(refused.stderr.contains("--exclude") && !refused.stderr.contains("zarr3"), "{}", refused.stderr);
}

#[test]
fn programs_that_open_no_zarr_get_a_netcdf_file_and_big_endian_numbers_version_3() {
    let folder = tempfile::tempdir().unwrap();
    let source = store(&folder.path().join("big.zarr"), ">f4", &[0x3f, 0x80, 0, 0], json!({}));
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    ncz(["copy", &source, &at("out.zarr"), "--for", "h5py"])
        .ends(2)
        .says(&["HDF5 does not open", "name the target .nc"]);
    ncz(["copy", &source, &at("out.nc"), "--for", "h5py"]).ends(0);
    let refused = ncz(["copy", &source, &at("out.zarr"), "--for", "zarrs"]).ends(3);
    refused.says(&["big-endian", "remedy: add --format zarr3\n"]);
    ncz(["copy", &source, &at("out.zarr"), "--for", "zarrs", "--format", "zarr3"]).ends(0);
}

#[test]
fn datasets_that_are_not_joined_are_named_without_lines_that_say_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let one = store(
        &folder.path().join("one.zarr"),
        "<i8",
        &wide(&[0, 1]),
        json!({"units": "days since 2020-01-01"}),
    );
    let other = store(
        &folder.path().join("other.zarr"),
        "<i8",
        &wide(&[49, 72]),
        json!({"units": "hours since 2020-01-01"}),
    );
    ncz(["copy", &one, &at("v3.zarr"), "--format", "zarr3"]).ends(0);
    let refused = ncz(["copy", "--concat", "x", &one, &at("v3.zarr"), &at("all.zarr")]).ends(3);
    let refused = refused.says(&["have different formats; copy one of them to the format of the other"]);
    assert!(!refused.stderr.contains("--exclude"), "{}", refused.stderr);

    let refused = ncz(["copy", "--concat", "x", &one, &other, &at("all.zarr")]).ends(3);
    let refused = refused.says(&["chunk \"v/0\" in", "49 (hours since 2020-01-01) cannot be kept exactly"]);
    assert!(refused.stderr.matches("because: ").count() <= 4, "{}", refused.stderr);
    assert!(!refused.stderr.contains("cannot be located"), "{}", refused.stderr);
}
