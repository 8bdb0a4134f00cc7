//! The plugin template, as a stranger uses it: copied out of the tree, built and tested there, loaded by ncz, h5py and netcdf-c.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz::codec::{Container, Dialect};
use ncz::registry::{CodecOrigin, Face};
use ncz_test_support::{build_binary, python, run, target_dir, workspace_root};
use serde_json::json;

use crate::harness::{bind, filters, mapped_from, plugins, run_json};

const ID: u32 = 32801;
/// The value of the one line that the README asks to change.
const PATH: &str = r#""../codec-api""#;
/// What cargo may take on a slow machine with nothing built yet.
const BUILDING: Duration = Duration::from_secs(600);
const RUNNING: Duration = Duration::from_secs(60);

#[test]
fn the_template_copied_out_of_the_tree_builds_passes_its_tests_and_is_loaded_everywhere() {
    let copy = Copy::new();
    copy.cargo(&["test"]);
    copy.cargo(&["build"]);
    let library = copy.plugins.join("libmy_h5delta8.so");
    assert!(library.is_file(), "no {library:?}");

    ncz_runs_its_native_face(&copy.plugins, &library);
    ncz_says_where_it_comes_from(&copy.plugins, &library);

    let Ok(python) = python() else { return };
    let first_bytes = json!([0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    for (program, file) in [("h5py", "delta.h5"), ("netcdf", "delta.nczarr")] {
        let path = copy.folder.path().join(file).display().to_string();
        let printed = run_json(&python, "template.py", &[program, &path], Some(&copy.plugins));
        assert_eq!(printed["stored"], first_bytes, "{program}");
        assert_eq!(mapped_from(&printed, &copy.plugins).len(), 1, "{program}");
        if program == "netcdf" {
            assert_eq!(printed["filters"], json!([{"id": "my-delta8", "distance": 4}]));
        }
    }
    let readme = std::fs::read_to_string(copy.source().join("README.md")).unwrap();
    let script = readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut command = python.command(&[("HDF5_PLUGIN_PATH", copy.plugins.as_os_str())]);
    command.current_dir(copy.folder.path()).arg("-c").arg(script);
    run(&mut command, RUNNING).unwrap().success("the script of the README").unwrap();
}

#[test]
fn the_template_locks_the_versions_of_the_workspace() {
    let ours = locked(&workspace_root().join("Cargo.lock"));
    let theirs = locked(&workspace_root().join("plugin-template/Cargo.lock"));
    let own: BTreeSet<_> =
        ["my-delta8", "my-delta8-plugin"].map(|name| (name.to_owned(), "0.1.0".to_owned())).into();
    let others: BTreeSet<_> = theirs.difference(&ours).cloned().collect();
    // else building the template wants crates that building the workspace has not fetched
    assert_eq!(
        others, own,
        "remedy: cp Cargo.lock plugin-template/ && cd plugin-template && cargo check --offline"
    );
}

fn ncz_runs_its_native_face(folder: &Path, library: &Path) {
    let registry = plugins(&[folder]);
    for entry in [registry.by_id(ID), registry.by_name(Dialect::Numcodecs, "my-delta8")] {
        let expected = CodecOrigin::Plugin { path: library.to_owned(), face: Face::Native, codec_half: None };
        assert_eq!(*entry.unwrap().origin(), expected);
    }
    let chain = bind(&registry, &filters([(ID, &[4][..])]), "<i4", &[3], Container::NczarrV2);
    let chunk: Vec<u8> = [10_i32, 300, -5].iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut scratch = chain.scratch();
    let stored = chain.encode(&mut scratch, &chunk).unwrap().to_vec();
    assert_eq!(stored, [10, 0, 0, 0, 34, 1, 0, 0, 207, 254, 255, 255]);
    let mut decoded = vec![0; chunk.len()];
    chain.decode(0, &mut scratch, &stored, &mut decoded).unwrap();
    assert_eq!(decoded, chunk);
    // the stream itself cannot tell, the chain can
    assert!(chain.decode(0, &mut scratch, &stored[..11], &mut decoded).is_err());
}

fn ncz_says_where_it_comes_from(folder: &Path, library: &Path) {
    let mut command = Command::new(build_binary("ncz").unwrap());
    command.env_remove("HDF5_PLUGIN_PRELOAD").env("HDF5_PLUGIN_PATH", folder).env("NO_COLOR", "1");
    let output = run(command.args(["plugins", "why", "my-delta8"]), RUNNING).unwrap();
    let told = output.success("ncz plugins why").unwrap().stdout_text();
    assert!(told.contains(&library.display().to_string()), "{told}");
}

/// The template in a temporary folder.
struct Copy {
    folder: tempfile::TempDir,
    /// Where its shared library is built.
    plugins: PathBuf,
    target: PathBuf,
    /// The target folder serves one copy at a time.
    _lock: File,
}

impl Copy {
    fn new() -> Self {
        // kept from run to run, for the dependencies; inside the workspace's own, so that cargo clean removes it
        let target = target_dir().join("plugin-template");
        std::fs::create_dir_all(&target).unwrap();
        let lock = File::create(target.join("test.lock")).unwrap();
        lock.lock().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = Self { plugins: target.join("debug"), folder, target, _lock: lock };
        copy_tree(&workspace_root().join("plugin-template"), &copy.source());
        let manifest = copy.source().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        assert_eq!(text.matches(PATH).count(), 1, "one line to change");
        let codec_api = workspace_root().join("codec-api");
        std::fs::write(&manifest, text.replace(PATH, &format!("{:?}", codec_api.display().to_string())))
            .unwrap();
        // what earlier copies have left
        copy.cargo(&["clean", "-p", "my-delta8", "-p", "my-delta8-plugin"]);
        copy
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("my-delta8")
    }

    /// Runs cargo in the copy, without a network and with the versions of its lock file.
    fn cargo(&self, args: &[&str]) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // what the cargo that runs this test has set
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["CARGO_", "NEXTEST"].iter().any(|start| text.starts_with(start)) && text != "CARGO_HOME" {
                command.env_remove(name);
            }
        }
        command.current_dir(self.source()).args(args).args(["--offline", "--locked", "--target-dir"]);
        run(command.arg(&self.target), BUILDING).unwrap().success("cargo").unwrap();
    }
}

/// Copies files and folders, but not what somebody has built inside the template.
fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if !path.is_dir() {
            std::fs::copy(&path, &target).unwrap();
        } else if entry.file_name() != "target" {
            copy_tree(&path, &target);
        }
    }
}

/// Names and versions in a lock file.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap();
        line.trim_matches('"').to_owned()
    };
    let packages: BTreeSet<_> = text
        .split("[[package]]")
        .skip(1)
        .map(|package| (value(package, "name"), value(package, "version")))
        .collect();
    assert!(packages.len() > 10, "{file:?}: {packages:?}");
    packages
}
