use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{build_binary, plugin, python};

use crate::bench::{Run, run};

/// A line of a comment with this means that the commands below it end with 1.
const FINDINGS: &str = "exit code 1";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of the blocks in this language under a heading of the README.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let section = readme.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    section.split(&fence).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// A clone in which cargo has built its targets, with its own home folder.
struct Clone {
    folder: tempfile::TempDir,
}

impl Clone {
    fn new(plugins: &[&str]) -> Self {
        let clone = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "home", "tmp", "clone/target/release"] {
            fs::create_dir_all(clone.path(folder)).unwrap();
        }
        symlink(repository().join("tests"), clone.path("clone/tests")).unwrap();
        for name in plugins {
            let library = plugin(name).unwrap();
            fs::copy(&library, clone.path("clone/target/release").join(library.file_name().unwrap()))
                .unwrap();
        }
        clone.program("ncz", &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_ncz")));
        let cargo = "case $1 in run) until [ \"$1\" = -- ]; do shift; done; shift; exec ncz \"$@\";; build) ;; *) exit 9;; esac";
        clone.program("cargo", cargo);
        clone
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs commands line by line in one shell, which ends at the first that fails. `/tmp` is a folder of the test.
    fn run(&self, lines: &str) -> Run {
        let mut script = String::new();
        let mut wanted = 0;
        for line in lines.lines().filter(|line| !line.is_empty()) {
            if line.starts_with('#') {
                wanted = i32::from(line.contains(FINDINGS));
                continue;
            }
            let line = line.replace("/tmp/", &format!("{}/", self.path("tmp").display()));
            script.push_str(&format!(
                "{line}\ncode=$?; [ $code = {wanted} ] || {{ echo \"the README's line ended with $code:\" '{}' >&2; exit 99; }}\n",
                line.replace('\'', "'\\''")
            ));
        }
        let path = std::env::join_paths(
            [self.path("bin")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let mut command = Command::new("bash");
        command.arg("-c").arg(script).current_dir(self.path("clone"));
        command.env("PATH", path.unwrap()).env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        for name in ["HDF5_PLUGIN_PATH", "HDF5_PLUGIN_PRELOAD", "PYTHONPATH", "PYTHONHOME", "NCTRACING"] {
            command.env_remove(name);
        }
        run(command.env("NO_COLOR", "1"))
    }
}

#[test]
fn the_first_command_of_the_readme_makes_the_data_smaller_and_prints_what_the_readme_shows() {
    let clone = Clone::new(&[]);
    let ran = clone.run(&blocks("Try it", "sh").concat()).ends(0);
    let shown = blocks("Try it", "text").concat();
    // All but the time that it took.
    let sizes = |text: &str| {
        let line = text.trim_end().lines().last().unwrap().to_owned();
        let (_, sizes) = line.split_once("nczarr: ").unwrap();
        (sizes.split_once(" in ").unwrap().0.to_owned(), line.split_once("; verified").unwrap().1.to_owned())
    };
    assert_eq!(sizes(&ran.stdout), sizes(&shown));
    assert!(shown.contains("329.5 kB stored, 551.4 kB before"), "{shown}");
}

#[test]
fn the_commands_to_paste_run_in_order_from_a_fresh_clone() {
    let clone = Clone::new(&["zstd"]);
    clone
        .program("ncz-conform", &format!("exec '{}' \"$@\"", build_binary("ncz-conform").unwrap().display()));
    let lines = blocks("Something to paste", "sh").concat();
    assert!(lines.lines().count() > 30, "{lines}");
    let ran = clone.run(&lines).ends(0);
    assert!(ran.stderr.contains("codecs bound"), "the trace is shown: {}", ran.stderr);
    assert!(clone.path("home/.local/share/man/man1/ncz.1").is_file());
    // In the folder that they made.
    let made = fs::read_dir(clone.path("tmp")).unwrap().map(|entry| entry.unwrap().path());
    let made: Vec<PathBuf> = made.filter(|path| path.join("in.nczarr").is_dir()).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    for page in ["codecs.html", "report.html"] {
        assert!(made[0].join(page).is_file(), "{page}");
    }
}

#[test]
fn the_recipe_for_other_programs_leaves_their_own_plugins_within_reach() {
    let Ok(python) = python() else { return };
    let clone = Clone::new(&["blosc", "bzip2", "zstd"]);
    clone.program("python", &format!("exec '{}' \"$@\"", python.interpreter().display()));
    let heading = "The plugins in other programs";
    let code = blocks(heading, "python").concat();
    let code = code.replace("/tmp/", &format!("{}/", clone.path("tmp").display()));
    fs::write(clone.path("clone/example.py"), code).unwrap();
    let lines = [blocks("Try it", "sh").concat(), blocks(heading, "sh").concat()].concat();
    let ran = clone.run(&format!("{lines}python example.py\n")).ends(0);
    let values = ran.stdout.lines().filter(|line| line.starts_with('[')).collect::<Vec<_>>();
    assert_eq!(values.len(), 2, "{}", ran.stdout);
    assert_eq!(values[0], values[1], "the fixture and its copy");
    // With only the first folder, the plugins of netCDF4 are not found: then the fixture is not read.
    let only = lines.replace(":$(python -c 'import netCDF4; print(netCDF4.__path__[0])')/plugins", "");
    assert_ne!(only, lines);
    fs::remove_dir_all(clone.path("tmp")).unwrap();
    fs::create_dir(clone.path("tmp")).unwrap();
    clone.run(&format!("{only}python example.py\n")).ends(99).says(&["undefined filter"]);
}
