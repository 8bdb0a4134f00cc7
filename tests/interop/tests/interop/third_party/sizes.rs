//! Every type, chunks from one byte to 64 MiB, odd lengths and noise, through three libraries that find our plugins: HDF5 2.0
//! (h5py), HDF5 2.2 (netCDF4, netCDF-4 files; it refuses a filter that returns more than its `*buf_size`) and netcdf-c 4.10's
//! NCZarr. Other makers' plugins read what was written; threads and processes do all of it at once.

use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{Skip, build_plugins, program, python};
use serde_json::Value;

use super::LIMIT;
use crate::harness::{mapped_from, run_json, run_script};

const SCRIPT: &str = "third_party.py";
#[test]
fn every_type_and_length_with_hdf5_2_0() {
    round("h5py", "", 3);
}

#[test]
fn every_type_and_length_with_hdf5_2_2() {
    round("netcdf", "", 3);
}

#[test]
fn every_type_and_length_with_nczarr() {
    round("nczarr", "", 7);
}

#[test]
fn chunks_of_64_mib_with_hdf5_2_0() {
    round("h5py", "--large", 3);
}

#[test]
fn chunks_of_64_mib_with_hdf5_2_2() {
    round("netcdf", "--large", 2);
}

#[test]
fn chunks_of_64_mib_with_nczarr() {
    round("nczarr", "--large", 7);
}

/// Writes every case with our plugins, of which this many are `needed`, and reads them with ours and with other
/// makers'.
fn round(library: &str, option: &str, needed: usize) {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").display().to_string();
    let run = |args: &[&str], plugins: Option<&Path>| {
        let args: Vec<&str> = args.iter().copied().chain((!option.is_empty()).then_some(option)).collect();
        run_json(&python, SCRIPT, &args, plugins)
    };
    let written = run(&["write", library, &path], Some(&plugins));
    // netcdf-c's NCZarr opens every library that it finds
    assert!(mapped_from(&written, &plugins).len() >= needed, "{written}");
    let by_ours = run(&["read", library, &path], Some(&plugins));
    all_right(&by_ours, &written);
    let theirs: &[&str] = match library {
        "h5py" => &["read", "h5py", &path, "--hdf5plugin"],
        "netcdf" => &["read", "h5py", &path, "--of=netcdf", "--hdf5plugin"],
        _ => &["read", library, &path],
    };
    let by_theirs = run(theirs, None);
    assert!(mapped_from(&by_theirs, &plugins).is_empty());
    all_right(&by_theirs, &written);
    if library != "nczarr" {
        assert_eq!(by_theirs["masked"], 0, "chunks that our plugins did not encode");
    }
}

fn all_right(read: &Value, written: &Value) {
    assert_eq!(read["count"], written["count"]);
    let wrong = read["wrong"].as_object().unwrap();
    assert!(wrong.is_empty(), "{} of {}: {wrong:?}", wrong.len(), read["count"]);
}

#[test]
fn threads_and_processes_that_read_and_write_at_once() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                let printed = run_json(&python, "third_party_threads.py", &[folder.path()], Some(&plugins));
                assert_eq!(printed["wrong"], serde_json::json!([]));
                assert!(printed["count"].as_u64().unwrap() >= 40, "{printed}");
                assert_eq!(mapped_from(&printed, &plugins).len(), super::OPENED);
            });
        }
    });
}

#[test]
fn hdf5_2_2_refuses_a_filter_that_reports_less_than_it_returns_and_takes_ours() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    for name in ["zstd", "blosc", "bzip2"] {
        let folder = tempfile::tempdir().unwrap();
        for (variant, option) in [("true", "-DLESS=0"), ("short", "-DLESS=1")] {
            let Ok(wrapper) =
                wrap(folder.path(), &plugins.join(format!("libncz_h5{name}.so")), variant, option)
            else {
                return;
            };
            let path = folder.path().join(variant).display().to_string();
            let output = run_script(&python, "third_party_noise.py", &[&*path, name], wrapper.parent());
            // the wrapper says each time that it was called
            assert!(output.text().contains("wrapper called"), "{}", output.text());
            let printed = output.text();
            if variant == "true" {
                output.success(SCRIPT).unwrap_or_else(|error| panic!("{name}: {error}"));
            } else {
                assert!(!output.status.success(), "{name}: HDF5 2.2 took it: {printed}");
                assert!(
                    printed.contains("NetCDF: HDF error") || printed.contains("Filter error"),
                    "{printed}"
                );
            }
        }
    }
}

/// A plugin that calls ours and, if so configured, states one byte less in `*buf_size` than it returns.
fn wrap(folder: &Path, ours: &Path, variant: &str, option: &str) -> Result<PathBuf, Skip> {
    let plugins = folder.join(format!("plugins-{variant}"));
    std::fs::create_dir(&plugins).unwrap();
    let library = plugins.join("libwrapper.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/wrapper.c");
    let mut cc = Command::new(program("cc")?);
    cc.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", option])
        .arg(format!("-DOURS=\"{}\"", ours.display()))
        .arg(source)
        .arg("-o")
        .arg(&library)
        .arg("-ldl");
    ncz_test_support::run(&mut cc, LIMIT).unwrap().success("cc").unwrap();
    Ok(library)
}
