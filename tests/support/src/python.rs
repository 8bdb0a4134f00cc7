use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::lock::FileLock;
use crate::process::{describe, run};
use crate::{Error, Output, Skip, target_dir};

/// The pinned packages of the environment.
const REQUIREMENTS: &str = include_str!("../requirements.txt");
/// What a process waits for another one that makes the environment, and what making it may take.
const MAKING: Duration = Duration::from_secs(900);
/// What a script of a test may take.
const SCRIPT: Duration = Duration::from_secs(300);
/// The packages that carry plugins, and the folder of each inside `site-packages`.
const PLUGIN_FOLDERS: [(&str, &str); 2] =
    [("hdf5plugin", "hdf5plugin/plugins"), ("netCDF4", "netCDF4/plugins")];
/// What a user may have set, and what would make a test depend on it.
const UNSET: [&str; 6] =
    ["HDF5_PLUGIN_PATH", "HDF5_PLUGIN_PRELOAD", "PYTHONPATH", "PYTHONHOME", "NCRCENV_RC", "VIRTUAL_ENV"];

/// A Python environment with the peers in the versions of `tests/support/requirements.txt`.
#[derive(Debug, Clone)]
pub struct Python {
    folder: PathBuf,
}

/// The Python environment with the peers, made under the target folder on first use.
///
/// Parallel test processes make it once: one of them, the others wait. `NCZ_PYTHON` names another interpreter than
/// `python3` to make it with.
///
/// # Errors
///
/// A [`Skip`] if it cannot be made: no `python3`, no `venv` (Debian has it in a package of its own), no network.
pub fn python() -> Result<Python, Skip> {
    let folder = target_dir().join(format!("python-peers-{:016x}", hash(REQUIREMENTS)));
    let python = Python { folder };
    if python.is_complete() {
        return Ok(python);
    }
    python.make_once_a_run().map_err(|error| unavailable(&error))?;
    Ok(python)
}

impl Python {
    /// The interpreter of the environment.
    #[must_use]
    pub fn interpreter(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// The folder of shared libraries inside the package `hdf5plugin` or `netCDF4`.
    ///
    /// # Errors
    ///
    /// [`Error::Fixture`] for a package that carries no plugins, or if the folder is not there.
    pub fn plugin_dir(&self, package: &str) -> Result<PathBuf, Error> {
        let packages = self.site_packages()?;
        let Some((_, inside)) = PLUGIN_FOLDERS.iter().find(|(name, _)| *name == package) else {
            return Err(Error::fixture(&packages, format!("{package} is not a package with plugins")));
        };
        let folder = packages.join(inside);
        if folder.is_dir() {
            Ok(folder)
        } else {
            Err(Error::fixture(&folder, "the folder of plugins is missing"))
        }
    }

    /// The folder into which the packages are installed.
    ///
    /// # Errors
    ///
    /// [`Error::Fixture`] if the environment has no such folder.
    pub fn site_packages(&self) -> Result<PathBuf, Error> {
        let lib = self.folder.join("lib");
        let entries = std::fs::read_dir(&lib).map_err(Error::io(&lib))?;
        entries
            .filter_map(Result::ok)
            .map(|entry| entry.path().join("site-packages"))
            .find(|folder| folder.is_dir())
            .ok_or_else(|| Error::fixture(&lib, "no site-packages in the environment"))
    }

    /// Runs the file `script` with `args`, with `env` added to the environment of this process.
    ///
    /// `HDF5_PLUGIN_PATH` and Python's own path variables are unset unless `env` sets them.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] with all that was printed if the status is not 0, and the errors of [`run`](crate::run()).
    pub fn run<S: AsRef<OsStr>>(
        &self,
        script: &Path,
        args: &[S],
        env: &[(&str, &OsStr)],
    ) -> Result<Output, Error> {
        checked(self.command(env).arg(script).args(args))
    }

    /// Runs the text `code` with `args` (`sys.argv[1:]`), otherwise as [`Python::run`].
    ///
    /// # Errors
    ///
    /// As [`Python::run`].
    pub fn run_code<S: AsRef<OsStr>>(
        &self,
        code: &str,
        args: &[S],
        env: &[(&str, &OsStr)],
    ) -> Result<Output, Error> {
        checked(self.command(env).arg("-c").arg(code).args(args))
    }

    /// A command that starts the interpreter, for tests that expect a failure; end it with [`run`](crate::run()).
    #[must_use]
    pub fn command(&self, env: &[(&str, &OsStr)]) -> Command {
        let mut command = Command::new(self.interpreter());
        for name in UNSET {
            command.env_remove(name);
        }
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        command.envs(env.iter().copied());
        command
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("complete")
    }

    fn is_complete(&self) -> bool {
        // the interpreter is a link; it dangles after an upgrade of the system's Python
        self.marker().is_file() && self.interpreter().exists()
    }

    /// Makes the environment unless another process has, or has failed to in this run of nextest: without a network
    /// every test would otherwise wait for pip to give up.
    fn make_once_a_run(&self) -> Result<(), Error> {
        let _lock = FileLock::wait(&self.folder.with_extension("lock"), MAKING)?;
        if self.is_complete() {
            return Ok(());
        }
        let record = self.folder.with_extension("failed");
        let run = std::env::var("NEXTEST_RUN_ID").ok();
        if let (Some(run), Ok(recorded)) = (&run, std::fs::read_to_string(&record))
            && let Some((recorded_run, why)) = recorded.split_once('\n')
            && recorded_run == run
        {
            return Err(Error::fixture(&self.folder, why));
        }
        let made = self.make();
        if let (Some(run), Err(error)) = (run, &made) {
            std::fs::write(&record, format!("{run}\n{}", with_sources(error))).map_err(Error::io(&record))?;
        }
        made
    }

    /// Makes the environment at its final path (scripts inside it hold absolute paths), with the marker last.
    fn make(&self) -> Result<(), Error> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        }
        let base = std::env::var_os("NCZ_PYTHON").unwrap_or_else(|| "python3".into());
        step(Command::new(base).args(["-m", "venv"]).arg(&self.folder))?;
        let requirements = self.folder.join("requirements.txt");
        std::fs::write(&requirements, REQUIREMENTS).map_err(Error::io(&requirements))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-r"];
        step(Command::new(self.interpreter()).args(pip).arg(&requirements))?;
        let marker = self.marker();
        std::fs::write(&marker, "").map_err(Error::io(&marker))
    }
}

/// One step of making the environment.
fn step(command: &mut Command) -> Result<(), Error> {
    for name in UNSET {
        command.env_remove(name);
    }
    run(command, MAKING)?.success(&describe(command)).map(drop)
}

fn checked(command: &mut Command) -> Result<Output, Error> {
    run(command, SCRIPT)?.success(&describe(command))
}

fn unavailable(error: &Error) -> Skip {
    let why = with_sources(error);
    let remedy = remedy(&why);
    Skip::new("the Python environment with the peers", why, remedy)
}

fn remedy(why: &str) -> &'static str {
    if why.contains("ensurepip") || why.contains("No module named venv") {
        "apt-get install python3-venv, or run tests/support/setup.sh"
    } else if why.starts_with("cannot start") {
        "apt-get install python3-venv (it brings python3), or name an interpreter by NCZ_PYTHON"
    } else {
        "CPython 3.11 or later and a package index that pip reaches"
    }
}

fn with_sources(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn the_peers_import_in_the_pinned_versions() {
        let Ok(python) = python() else { return };
        let code = "import importlib.metadata as m, netCDF4, zarr, zarrs, numcodecs, h5py, hdf5plugin, tensorstore, numpy\n\
                    for d in m.distributions(): print(d.name + '==' + d.version)";
        let listed = python.run_code(code, &NONE, &[]).unwrap().stdout_text();
        let listed: Vec<&str> = listed.lines().collect();
        let pinned = REQUIREMENTS.lines().filter(|line| !line.starts_with('#'));
        let missing: Vec<&str> = pinned.filter(|line| !listed.contains(line)).collect();
        assert!(missing.is_empty(), "{missing:?} not among {listed:?}");
    }

    #[test]
    fn plugins_of_the_peers_are_found() {
        let Ok(python) = python() else { return };
        assert!(python.plugin_dir("hdf5plugin").unwrap().join("libh5zstd.so").is_file());
        assert!(python.plugin_dir("netCDF4").unwrap().join("lib__nczstdfilters.so").is_file());
        assert!(python.plugin_dir("numpy").unwrap_err().to_string().contains("numpy"));
    }

    #[test]
    fn a_missing_venv_module_is_reported_with_its_debian_package() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            step(Command::new("sh").args(["-c", "echo ensurepip is not available >&2; exit 1"])).unwrap_err();
        assert!(remedy(&with_sources(&error)).contains("apt-get install python3-venv"));
        let absent = step(&mut Command::new(folder.path().join("python3"))).unwrap_err();
        assert!(remedy(&with_sources(&absent)).contains("apt-get install python3-venv"));
    }

    #[test]
    fn a_script_that_fails_says_why() {
        let Ok(python) = python() else { return };
        let error = python.run_code("raise ValueError('odd chunk')", &NONE, &[]).unwrap_err().to_string();
        assert!(error.contains("odd chunk"), "{error}");
    }

    #[test]
    fn the_environment_of_a_script_is_the_one_given() {
        let Ok(python) = python() else { return };
        let code = "import os, sys; print(os.environ.get('HDF5_PLUGIN_PATH'), sys.argv[1])";
        let given = python.run_code(code, &["a"], &[("HDF5_PLUGIN_PATH", OsStr::new("/here"))]).unwrap();
        assert_eq!(given.stdout_text().trim(), "/here a");
        let without = python.run_code(code, &["b"], &[]).unwrap();
        assert_eq!(without.stdout_text().trim(), "None b");
    }
}
