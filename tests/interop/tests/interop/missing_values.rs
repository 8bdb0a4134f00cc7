//! Every kind of dataset in every format: the readers of a copy see the values, masks, attributes and dimensions that the
//! readers of the source see.

use std::time::{SystemTime, UNIX_EPOCH};

use ncz_test_support::python;

use crate::harness::{ncz_ok, run_script};

const SCRIPT: &str = "missing_values.py";

/// The kinds of sources, by the program that writes them, and the targets.
const KINDS: [&str; 7] = ["xarray2", "xarray3", "sharded3", "gdal", "zarr2", "netcdf", "netcdf4"];
const TARGETS: [&str; 4] = ["zarr", "zarr3", "nczarr", "nc"];
/// How many readings of copies there are.
const READINGS: &str = "42";

#[test]
fn what_readers_see_of_a_source_they_see_of_its_copy_in_every_format() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = run_script(&python, SCRIPT, args, None);
        output.success(SCRIPT).unwrap_or_else(|error| panic!("{error}")).stdout_text()
    };
    // The same data again: NCZ_SEED=1234.
    let chosen = std::env::var("NCZ_SEED").ok();
    let time = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
    let seed = chosen.unwrap_or_else(time);
    println!("seed {seed}");
    let text = folder.path().to_str().unwrap();
    run(&["make", &seed, text]);
    for kind in KINDS {
        let source =
            folder.path().join(kind).join(if kind == "netcdf4" { "source.nc" } else { "source.zarr" });
        for target in TARGETS {
            let copy = folder.path().join(kind).join(format!("copy.{target}"));
            let (source, copy) = (source.to_str().unwrap(), copy.to_str().unwrap());
            let format = if target == "nc" { "netcdf4" } else { target };
            ncz_ok(&["copy", source, copy, "--format", format, "--verify", "-q", "--threads", "1"]);
        }
    }
    let found = run(&["compare", text]);
    assert_eq!(found.trim_end(), READINGS, "seed {seed}");
}
