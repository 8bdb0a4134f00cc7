use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ncz_test_support::build_binary;

/// Only `ncz` in a folder, and that folder for `PATH`.
fn alone(folder: &Path) -> Command {
    let program = folder.join("ncz");
    std::fs::copy(build_binary("ncz").unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.env("PATH", folder);
    command
}

fn sibling(path: &Path, says: &str) {
    std::fs::write(path, format!("#!/bin/sh\necho {says} \"$@\"\nexit 7\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn arguments_and_exit_code_are_those_of_the_program_beside_ncz_or_else_on_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = tempfile::tempdir().unwrap();
    sibling(&path.path().join("ncz-conform"), "path");
    let run = || {
        let arguments = ["conform", "a b.so", "--level", "3", "--help", "-q"];
        let output = alone(folder.path()).args(arguments).env("PATH", path.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(), (Some(7), "path a b.so --level 3 --help -q\n".to_owned()));
    sibling(&folder.path().join("ncz-conform"), "beside");
    assert_eq!(run(), (Some(7), "beside a b.so --level 3 --help -q\n".to_owned()));
}

#[test]
fn without_the_program_the_way_to_install_it_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let output = alone(folder.path()).args(["conform", "x.so"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("cargo install --path tests/conformance"), "{error}");
}
