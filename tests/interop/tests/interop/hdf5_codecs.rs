//! LZ4, bitshuffle and LZF in HDF5 files and NCZarr datasets, by our shared libraries and by third-party ones.

use std::path::Path;

use ncz_test_support::{Python, build_plugins, python};

use crate::harness::{ncz_ok, run_script};

const SCRIPT: &str = "hdf5_codecs.py";
const THEIRS: &str = "--hdf5plugin";

/// Runs the script; how many cases went through.
fn count(python: &Python, args: &[&str], plugins: Option<&Path>) -> u32 {
    let output = run_script(python, SCRIPT, args, plugins).success(SCRIPT);
    let output = output.unwrap_or_else(|error| panic!("{args:?}: {error}"));
    output.stdout_text().trim().parse().unwrap()
}

#[test]
fn lz4_and_bitshuffle_of_ours_and_of_hdf5plugin_read_each_other() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (ours, theirs) = (path("ours.h5"), path("theirs.h5"));
    assert_eq!(count(&python, &["write", &ours], Some(&plugins)), 504);
    assert_eq!(count(&python, &["write", &theirs, THEIRS], None), 504);
    for file in [&ours, &theirs] {
        assert_eq!(count(&python, &["read", file], Some(&plugins)), 504);
        assert_eq!(count(&python, &["read", file, THEIRS], None), 504);
    }
    // without plugins no program reads them: it was ours that did
    let nothing = tempfile::tempdir().unwrap();
    assert!(!run_script(&python, SCRIPT, &["read", &ours], Some(nothing.path())).status.success());
}

#[test]
fn netcdf_c_with_our_lzf_and_h5py_with_its_own_read_each_other() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (h5py, netcdf) = (path("h5py.h5"), path("netcdf.nc"));
    assert_eq!(count(&python, &["lzf-write", &h5py], None), 66);
    assert_eq!(count(&python, &["lzf-netcdf-read", &h5py], Some(&plugins)), 66);
    assert_eq!(count(&python, &["lzf-netcdf-write", &netcdf], Some(&plugins)), 66);
    assert_eq!(count(&python, &["lzf-netcdf-read", &netcdf], Some(&plugins)), 66);
    assert_eq!(count(&python, &["lzf-read", &netcdf], None), 66);
    assert!(!run_script(&python, SCRIPT, &["lzf-netcdf-read", &h5py], Some(folder.path())).status.success());
}

#[test]
fn netcdf_c_writes_nczarr_with_our_lz4_and_lzf_and_ncz_reads_it() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codecs.nczarr").display().to_string();
    assert_eq!(count(&python, &["nczarr", &path], Some(&build_plugins().unwrap())), 3);
    let text = ncz_ok(&["dump", &path]).stdout_text();
    // 0 to 71, seven times each, except for the last
    assert_eq!(text.matches("70, 70, 70, 70, 70, 70, 70, 71, 71, 71").count(), 3, "{text}");
}
