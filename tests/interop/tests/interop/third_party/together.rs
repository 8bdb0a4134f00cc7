//! Our plugins and third-party plugins in one process, on one `HDF5_PLUGIN_PATH`, under two libhdf5 and a libnetcdf:
//! the data are right whichever plugin is found first and whichever module comes first. (netcdf-c loads plugins into
//! the global scope, and hdf5plugin's libraries export thousands of symbols: a plugin that can be interposed runs
//! another's code.)

use std::path::Path;

use ncz_test_support::{Python, build_plugins, python};

use serde_json::{Value, json};

use crate::harness::{mapped_from, run_json, run_script, with_one_damaged};

const SCRIPT: &str = "third_party_together.py";
/// Orders of import. hdf5plugin registers its filters in h5py's libhdf5, before any plugin is looked for there.
const ORDERS: [&[&str]; 4] = [
    &["h5py", "netCDF4"],
    &["netCDF4", "h5py"],
    &["hdf5plugin", "netCDF4", "h5py"],
    &["netCDF4", "h5py", "hdf5plugin"],
];

#[test]
fn ours_first_and_all_the_others_after() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let [netcdf, hdf5plugin] = ["netCDF4", "hdf5plugin"].map(|package| python.plugin_dir(package).unwrap());
    let printed = every_order(&python, [&plugins, &netcdf, &hdf5plugin]);
    for printed in printed {
        assert_eq!(mapped_from(&printed, &plugins).len(), super::OPENED, "{printed}");
        assert!(mapped_from(&printed, &netcdf).len() >= 2, "{printed}");
        assert!(mapped_from(&printed, &hdf5plugin).len() >= 2, "{printed}");
    }
}

#[test]
fn ours_last_with_others_before() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    // their blosc works only in the libhdf5 that it was made for, ours or not: before ours it would be taken
    let others = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(python.plugin_dir("hdf5plugin").unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name != "libh5blosc.so" {
            std::fs::copy(&path, others.path().join(name)).unwrap();
        }
    }
    for printed in every_order(&python, [others.path(), &plugins]) {
        assert!(mapped_from(&printed, &plugins).len() >= 5, "{printed}");
        assert!(mapped_from(&printed, others.path()).len() >= 2, "{printed}");
    }
}

/// What the script prints for each order of imports; every array must be right.
fn every_order<const N: usize>(python: &Python, path: [&Path; N]) -> [Value; 4] {
    let path = std::env::join_paths(path).unwrap();
    ORDERS.map(|order| {
        let folder = tempfile::tempdir().unwrap();
        let mut args = vec![folder.path().to_str().unwrap()];
        args.extend(order);
        let printed = run_json(python, SCRIPT, &args, Some(Path::new(&path)));
        assert_eq!(printed["wrong"], json!([]), "{order:?} on {path:?}");
        assert_eq!(printed["count"], 120);
        printed
    })
}

#[test]
fn only_ours_are_used_for_their_ids_next_to_other_plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let hdf5plugin = python.plugin_dir("hdf5plugin").unwrap();
    // lz4 is hdf5plugin's, the rest is ours
    let others = tempfile::tempdir().unwrap();
    std::fs::copy(hdf5plugin.join("libh5lz4.so"), others.path().join("libh5lz4.so")).unwrap();
    let run = |plugins: &Path| {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::join_paths([others.path(), plugins]).unwrap();
        let args = [folder.path().to_str().unwrap(), "netCDF4", "h5py"];
        run_script(&python, SCRIPT, &args, Some(Path::new(&path)))
    };
    let output = run(&plugins).success(SCRIPT).unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["count"], &printed["wrong"]), (&json!(120), &json!([])));
    for name in ["blosc", "bzip2", "zstd", "deflate", "szip"] {
        let damaged = with_one_damaged(&plugins, name);
        assert!(!run(damaged.path()).status.success(), "all is well without {name}");
    }
}
