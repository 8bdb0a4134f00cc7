//! Blosc2 in HDF5 files, by our shared library and by that of hdf5plugin.

use std::path::Path;

use ncz_test_support::{Python, build_plugins, python, takes_all};

use crate::harness::run_script;

const SCRIPT: &str = "hdf5_blosc2.py";
const THEIRS: &str = "--hdf5plugin";

/// Runs the script; what it printed.
fn printed(python: &Python, args: &[&str], plugins: Option<&Path>) -> String {
    let output = run_script(python, SCRIPT, args, plugins).success(SCRIPT);
    let output = output.unwrap_or_else(|error| panic!("{args:?}: {error}"));
    output.stdout_text().trim().to_owned()
}

/// How many cases went through.
fn count(python: &Python, args: &[&str], plugins: Option<&Path>) -> u32 {
    printed(python, args, plugins).parse().unwrap()
}

#[test]
fn ours_and_hdf5plugin_read_each_other_and_store_the_same_words() {
    let Ok(python) = python() else { return };
    // All cases, and those of them that hdf5plugin reads when it wrote them.
    let (all, unreadable) = if takes_all("NCZ_MATRIX") { (974, 33) } else { (464, 11) };
    let readable = all - unreadable;
    let plugins = build_plugins().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (ours, theirs) = (path("ours.h5"), path("theirs.h5"));
    assert_eq!(count(&python, &["write", &ours], Some(&plugins)), all);
    assert_eq!(count(&python, &["write", &theirs, THEIRS], None), all);
    let words = |file: &str| printed(&python, &["words", file, THEIRS], None);
    assert_eq!(words(&ours), words(&theirs));
    let read = |both: bool| {
        assert_eq!(count(&python, &["read", &ours], Some(&plugins)), all);
        assert_eq!(count(&python, &["read", &ours, THEIRS], None), all);
        assert_eq!(count(&python, &["read", &theirs], Some(&plugins)), all);
        assert_eq!(count(&python, &["read", &theirs, THEIRS], None), readable, "{both}");
    };
    read(false);
    // Each appends chunks to what the other began.
    assert_eq!(count(&python, &["append", &ours, THEIRS], None), all);
    assert_eq!(count(&python, &["append", &theirs], Some(&plugins)), all);
    read(true);
    // without plugins no program reads them: it was ours that did
    let nothing = tempfile::tempdir().unwrap();
    assert!(!run_script(&python, SCRIPT, &["read", &ours], Some(nothing.path())).status.success());
}
