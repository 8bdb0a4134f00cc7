use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use ncz_test_servers::S3Server;
use ncz_test_support::{build_binary, plugin, python, workspace_root};

use super::page::Step;
use super::shown::is_shown;
use crate::bench::run;

/// The plugins that pages build.
const PLUGINS: [&str; 3] = ["blosc", "bzip2", "zstd"];
/// The bucket that pages write to.
const BUCKET: &str = "my-bucket";
/// It begins what the shell says about a step.
const MARK: char = '\u{1e}';

/// A clone in which cargo has built its targets, with its own home folder and an S3 service.
pub(super) struct Checkout {
    folder: tempfile::TempDir,
    service: S3Server,
}

impl Checkout {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checkout = Self { folder, service: S3Server::start_with(BUCKET).unwrap() };
        for name in ["bin", "home", "tmp", "clone/target/release"] {
            fs::create_dir_all(checkout.path(name)).unwrap();
        }
        for entry in fs::read_dir(workspace_root()).unwrap().map(Result::unwrap) {
            let name = entry.file_name();
            if name != "target" && name != ".git" {
                symlink(entry.path(), checkout.path("clone").join(name)).unwrap();
            }
        }
        for name in PLUGINS {
            let library = plugin(name).unwrap();
            let release = checkout.path("clone/target/release");
            fs::copy(&library, release.join(library.file_name().unwrap())).unwrap();
        }
        checkout.program("ncz", &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_ncz")));
        let conform = build_binary("ncz-conform").unwrap();
        checkout.program("ncz-conform", &format!("exec '{}' \"$@\"", conform.display()));
        if let Ok(python) = python() {
            checkout.program("python", &format!("exec '{}' \"$@\"", python.interpreter().display()));
        }
        // What they would build and install is there.
        checkout.program("pip", "case $1 in install) ;; *) exit 9;; esac");
        checkout.program(
            "cargo",
            "case $1 in run) until [ \"$1\" = -- ]; do shift; done; shift; exec ncz \"$@\";; build|install) ;; *) exit 9;; esac",
        );
        checkout
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the steps in one shell, which ends at the first that ends otherwise than its page says. `/tmp` is a folder of
    /// the test. The error is what differs from the page.
    pub(super) fn follow(&self, steps: &[Step]) -> Result<(), String> {
        let tmp = format!("{}/", self.path("tmp").display());
        let mut script = "exec 2>&1\n".to_owned();
        for Step { command, code, .. } in steps {
            let command = command.replace("/tmp/", &tmp);
            script.push_str(&format!(
                "printf '{MARK}'\n{command}\ncode=$?; [ $code = {code} ] || {{ echo \"it ended with $code\"; exit 99; }}\n"
            ));
        }
        let ran = run(self.shell().arg("-c").arg(script));
        let printed = ran.stdout.replace(&tmp, "/tmp/");
        let printed: Vec<&str> = printed.split(MARK).skip(1).collect();
        let ended = format!("the shell ended with {}", ran.code);
        for (at, step) in steps.iter().enumerate() {
            let Some(text) = printed.get(at) else {
                return Err(format!("not reached, {ended}: {}\n{}", step.command, ran.stderr));
            };
            // The last step that was reached is the one that failed.
            if ran.code != 0 && at + 1 == printed.len() {
                return Err(format!("{}\n{text}{ended}", step.command));
            }
            let lines: Vec<&str> = text.trim_end().lines().collect();
            if step.shown.as_ref().is_some_and(|shown| !is_shown(shown, &lines)) {
                return Err(format!("{}\nprints\n{text}", step.command));
            }
        }
        Ok(())
    }

    fn shell(&self) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.path("bin")].into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new("bash");
        command.current_dir(self.path("clone")).env("PATH", std::env::join_paths(path).unwrap());
        for name in [
            "HDF5_PLUGIN_PATH",
            "HDF5_PLUGIN_PRELOAD",
            "PYTHONPATH",
            "PYTHONHOME",
            "NCTRACING",
            "XDG_CACHE_HOME",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp")).env("NO_COLOR", "1");
        command.env("PYTHONWARNINGS", "ignore").env("PYTHONUTF8", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        let keys = self.service.credentials();
        command.env("AWS_ACCESS_KEY_ID", &keys.key).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
        command.env("AWS_ENDPOINT_URL", self.service.endpoint()).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true");
        command
    }
}
