//! The first hour of a newcomer with the documents alone: each script of `tests/first_hour` has only commands of the
//! documents, and runs in an environment that has nothing but programs and a home folder.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz_test_support::{build_binary, python, run, workspace_root};

use crate::template::{Filter, Target, alone, h5py_and_netcdf_use_it, passes_everything};

const SCRIPTS: &str = "tests/first_hour";
/// What cargo may take on a slow machine with nothing built yet.
const LIMIT: Duration = Duration::from_secs(900);

#[test]
fn a_newcomer_copies_a_file_to_zarr() {
    let Some(printed) = follow("convert.sh", None) else { return };
    for shown in ["ocean.nc: netCDF-4", "ocean.nc: good; 22 chunks", "verified: every value is the same"] {
        assert!(printed.contains(shown), "no {shown}\n{printed}");
    }
}

#[test]
fn a_newcomer_reads_in_xarray_the_values_that_netcdf4_reads_in_the_file() {
    let Some(printed) = follow("xarray.sh", None) else { return };
    assert!(printed.ends_with("[17.73 17.54 17.25]\n[17.73 17.54 17.25]\n"), "{printed}");
}

#[test]
fn a_newcomer_learns_why_a_plugin_is_refused() {
    let Some(printed) = follow("refused-plugin.sh", None) else { return };
    for shown in [
        "no codec found for \"acme-fp2\"",
        "plugins/libh5acme_fp2.so is not in a folder that is searched",
        "acme-fp2 (HDF5 filter 32901) comes from",
        "libh5acme_fp2.so: refused: everyone may write to it; chmod o-w ",
        "libother.so is ignored: built for another architecture",
        "libh5acme_fp2.so is refused: changed since it was put on the plugin allow-list",
        "libh5acme_fp2.so has changed",
    ] {
        assert!(printed.contains(shown), "no {shown}\n{printed}");
    }
}

#[test]
fn a_newcomer_writes_a_codec_in_rust_and_in_c_and_uses_it_in_h5py() {
    let target = Target::lock();
    let Some(printed) = follow("codec.sh", Some(&target)) else { return };
    for (name, id) in [("acme-fpz", 32900), ("acme-fp2", 32901)] {
        let in_h5py = format!("\nTrue ({id}, 1, (4,), b'{name}')\n");
        assert!(printed.contains(&in_h5py), "no {in_h5py}\n{printed}");
        assert!(printed.contains(&format!("{name} (HDF5 filter {id}) comes from")), "{printed}");
    }
    assert_eq!(printed.matches("fit at level 5").count(), 2, "{printed}");
    let library = alone(&target.folder.join("release/libh5acme_fpz.so"));
    passes_everything(&library.path().join("libh5acme_fpz.so"));
    h5py_and_netcdf_use_it(&Filter { id: 32900, name: "acme-fpz" }, &["netcdf"], library.path());
}

#[test]
fn the_scripts_have_only_commands_of_the_documents() {
    let mut documents = BTreeSet::new();
    read_documents(&workspace_root(), &mut documents);
    let scripts: Vec<PathBuf> =
        fs::read_dir(workspace_root().join(SCRIPTS)).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(scripts.len(), 4, "{scripts:?}");
    for script in scripts {
        for line in fs::read_to_string(&script).unwrap().lines() {
            // the lines around a script in Python, which the documents have in a block of its own
            let is_frame = line.starts_with('#') || ["", "python - <<'END'", "END"].contains(&line);
            assert!(is_frame || documents.contains(command(line)), "{}: {line}", script.display());
        }
    }
}

/// A line without what belongs to no command: a prompt, a comment, and `! .. || exit 1` around what must fail.
fn command(line: &str) -> &str {
    let line = line.strip_prefix("$ ").or(line.strip_prefix("! ")).unwrap_or(line);
    let line = line.strip_suffix(" || exit 1").unwrap_or(line);
    line.split(" # ").next().unwrap_or_default().trim_end()
}

/// Collects the commands of all documents in a folder.
fn read_documents(folder: &Path, commands: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = entry.file_name();
        let is_source = name != "target" && !name.as_encoded_bytes().starts_with(b".");
        if entry.file_type().unwrap().is_dir() && is_source {
            read_documents(&path, commands);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            commands.extend(fs::read_to_string(path).unwrap().lines().map(|line| command(line).to_owned()));
        }
    }
}

/// Runs a script in the clone and returns what it prints on standard output; `None` if there is no Python. `/tmp` is a
/// folder of the test. Cargo builds in the target folder, if there is one.
fn follow(script: &str, target: Option<&Target>) -> Option<String> {
    let python = python().ok()?;
    let newcomer = tempfile::tempdir().unwrap();
    let [bin, tmp] = ["bin", "tmp"].map(|name| newcomer.path().join(name));
    for folder in [&bin, &tmp] {
        fs::create_dir(folder).unwrap();
    }
    let program = |name: &str, body: &str| {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body} \"$@\"\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("python", &format!("exec '{}'", python.interpreter().display()));
    for name in ["ncz", "ncz-worker", "ncz-conform"] {
        program(name, &format!("exec '{}'", build_binary(name).unwrap().display()));
    }
    if let Some(target) = target {
        let target = target.folder.display();
        program("cargo", &format!("[ -e target ] || ln -s '{target}' target\nPATH=${{PATH#*:}}\nexec cargo"));
    }

    let text = fs::read_to_string(workspace_root().join(SCRIPTS).join(script)).unwrap();
    let mut command = Command::new("bash");
    command.args(["-euc", &text.replace("/tmp/", &format!("{}/", tmp.display()))]);
    command.current_dir(workspace_root()).env_clear().env("HOME", newcomer.path()).env("TMPDIR", &tmp);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [bin].into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path).unwrap());
    // where cargo and rustup find what is installed
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()));
    }
    if let Some(toolchain) = std::env::var_os("RUSTUP_TOOLCHAIN") {
        command.env("RUSTUP_TOOLCHAIN", toolchain);
    }
    command.env("CARGO_NET_OFFLINE", "true");
    let output = run(&mut command, LIMIT).unwrap().success(script).unwrap();
    Some(output.stdout_text())
}
