//! What the readers of a dataset mask, the readers of its copies in other formats mask too, element by element.

use std::path::Path;

use ncz_test_support::{Python, python};
use serde_json::{Map, Value};

use crate::harness::{ncz_ok, run_json, run_script};

const SCRIPT: &str = "missing_values.py";

/// The masked elements of each variable, by the program that reads them.
fn masks(python: &Python, folder: &Path) -> Map<String, Value> {
    let found = run_json(python, SCRIPT, &["masks", folder.to_str().unwrap()], None);
    found.as_object().unwrap().clone()
}

#[test]
fn what_is_masked_in_the_source_is_masked_in_the_copy_and_nothing_else() {
    let Ok(python) = python() else { return };
    for (kind, reader) in [
        ("xarray2", Some("xarray")),
        ("xarray3", Some("xarray")),
        ("sharded3", Some("xarray")),
        ("gdal", Some("xarray")),
        ("netcdf", Some("netCDF4")),
        // Its reader, zarr-python, masks nothing.
        ("zarr2", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.zarr");
        let text = source.to_str().unwrap();
        run_script(&python, SCRIPT, &["make", kind, text], None)
            .success(kind)
            .unwrap_or_else(|error| panic!("{error}"));
        let wanted = reader.map(|reader| masks(&python, &source)[reader].as_object().unwrap().clone());
        if let Some(wanted) = &wanted {
            let masked = wanted.values().filter(|mask| !mask.as_array().unwrap().is_empty());
            assert!(masked.count() >= 3, "{kind}: {wanted:?}");
        }
        for (format, readers) in
            [("zarr", ["xarray"].as_slice()), ("zarr3", &["xarray"]), ("nczarr", &["netCDF4"])]
        {
            let copy = folder.path().join(format!("copy.{format}"));
            let mut args = vec!["copy", text, copy.to_str().unwrap(), "--format", format, "--verify", "-q"];
            if format == "nczarr" && ["xarray2", "xarray3", "sharded3"].contains(&kind) {
                // netCDF has no type for it.
                args.extend(["--exclude", "half"]);
            }
            ncz_ok(&args);
            let found = masks(&python, &copy);
            for reader in readers {
                let Some(found) = found.get(*reader) else {
                    // Without names of dimensions xarray opens nothing.
                    assert_eq!((kind, *reader), ("zarr2", "xarray"), "{format}");
                    continue;
                };
                for (name, mask) in found.as_object().unwrap() {
                    let wanted = match &wanted {
                        Some(wanted) => wanted[name].clone(),
                        None => Value::Array(Vec::new()),
                    };
                    assert_eq!(*mask, wanted, "{kind} to {format}: {name} by {reader}");
                }
            }
        }
    }
}
