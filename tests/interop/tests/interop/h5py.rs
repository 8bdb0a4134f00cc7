//! HDF5, by h5py, with `HDF5_PLUGIN_PATH` at our shared libraries: blosc, bzip2 and zstd, which HDF5 has no filters of its own
//! for.

use std::path::Path;

use ncz_test_support::{build_plugins, python};
use serde_json::Value;

use crate::harness::{mapped_from, run_json, run_script, with_one_damaged};

const SCRIPT: &str = "h5.py";
const THEIRS: &str = "--hdf5plugin";

#[test]
fn our_plugins_and_hdf5plugin_read_each_other_and_store_the_same_parameters() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let foreign = python.plugin_dir("hdf5plugin").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |args: &[&str], plugins: Option<&Path>| run_json(&python, SCRIPT, args, plugins);

    let ours = run(&["write", &path("ours.h5")], Some(&plugins));
    let theirs = run(&["write", &path("theirs.h5"), THEIRS], None);
    for file in ["ours.h5", "theirs.h5"] {
        let by_ours = run(&["read", &path(file)], Some(&plugins));
        let by_theirs = run(&["read", &path(file), THEIRS], None);
        assert_eq!(by_ours["count"], by_theirs["count"]);
        assert!(mapped_from(&by_ours, &foreign).is_empty(), "{by_ours}");
        assert_eq!(mapped_from(&by_ours, &plugins).len(), 3, "{by_ours}");
    }
    assert!(mapped_from(&ours, &foreign).is_empty());
    assert_eq!(mapped_from(&ours, &plugins).len(), 3, "blosc, bzip2 and zstd");

    assert_same_parameters(&ours, &theirs);
    // every chunk went through the filter, also those that do not shrink
    let masked = cases(&ours).filter(|(_, case)| case["masked"] != 0).count();
    assert_eq!(masked, 0, "chunks that our plugins did not encode");
    assert!(cases(&theirs).any(|(_, case)| case["masked"] != 0), "no chunk was too noisy for hdf5plugin");
    assert!(cases(&ours).count() > 1800);
}

#[test]
fn the_parameters_for_types_that_only_hdf5_has_are_those_of_hdf5plugin() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("types.h5").display().to_string();
    let ours = run_json(&python, SCRIPT, &["create", &path], Some(&plugins));
    let theirs = run_json(&python, SCRIPT, &["create", &path, THEIRS], None);
    let (refused, taken): (Vec<_>, Vec<_>) = cases(&ours).partition(|(_, case)| case.get("error").is_some());
    assert_same_parameters(&ours, &theirs);
    // what cannot be encoded is refused at once; hdf5plugin takes it and lets HDF5 store the chunks as they are
    let wrong = |name: &str| {
        ["5, 1, 1, 0)", "10, 1, 1)", "5, 3, 1)", "5, 1, 77)"].iter().any(|end| name.ends_with(end))
    };
    assert!(refused.iter().all(|(name, _)| wrong(name)), "{refused:?}");
    assert!(taken.iter().all(|(name, _)| !wrong(name)), "{taken:?}");
}

#[test]
fn a_cut_chunk_is_an_error_and_our_code_says_so() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.h5").display().to_string();
    let output = run_script(&python, SCRIPT, &["damage", &path], Some(&plugins)).success(SCRIPT).unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trace = String::from_utf8_lossy(&output.stderr);
    for (id, name) in [("32001", "blosc"), ("307", "bzip2"), ("32015", "zstd")] {
        assert_eq!(printed[id], "an error", "{name}");
        assert!(trace.contains(&format!("ncz: {name}: decode")), "{name} did not run: {trace}");
    }
}

#[test]
fn without_our_library_hdf5_can_do_nothing() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5").display().to_string();
    run_json(&python, SCRIPT, &["write", &path], Some(&plugins));
    for name in ["blosc", "bzip2", "zstd"] {
        let damaged = with_one_damaged(&plugins, name);
        let output = run_script(&python, SCRIPT, &["read", &path], Some(damaged.path()));
        assert!(!output.status.success(), "{name} was read without its plugin");
    }
}

/// The entries of what the script prints, except for the libraries.
fn cases(printed: &Value) -> impl Iterator<Item = (&String, &Value)> {
    printed.as_object().unwrap().iter().filter(|(name, _)| !name.is_empty())
}

/// Word for word, for each case that ours took.
fn assert_same_parameters(ours: &Value, theirs: &Value) {
    let different: Vec<String> = cases(ours)
        .filter(|(_, case)| case.get("error").is_none())
        .filter(|(name, case)| case["cd_values"] != theirs[name.as_str()]["cd_values"])
        .map(|(name, case)| {
            format!("{name}: {} and {}", case["cd_values"], theirs[name.as_str()]["cd_values"])
        })
        .collect();
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
