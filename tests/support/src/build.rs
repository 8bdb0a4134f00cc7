use std::collections::BTreeMap;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::lock::FileLock;
use crate::process::{describe, run};
use crate::workspace::Built;
use crate::{Error, workspace_root};

/// What building may take, and what a process waits for another one that builds.
const BUILDING: Duration = Duration::from_secs(1800);
/// Plugin folders of earlier builds are kept this long, as a test may still use one.
const KEPT: Duration = Duration::from_secs(3600);

/// The folder with the shared libraries of all plugins under `plugins/`, built in the profile of the running test.
///
/// The folder holds nothing else, so that it can be named by `HDF5_PLUGIN_PATH`. Cargo runs once a process, and under
/// nextest once a test run. A folder is complete when its name appears and never changes afterwards: another build
/// gives another folder.
///
/// # Errors
///
/// [`Error::Failed`] with the compiler's messages if the build fails, [`Error::NotBuilt`] if cargo did not name a
/// library, [`Error::Locked`] and [`Error::Io`].
pub fn build_plugins() -> Result<PathBuf, Error> {
    static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = &*folder {
        return Ok(folder.clone());
    }
    let built = once_a_run("plugins", |root| {
        let folders = PluginFolders { root: root.to_owned() };
        let current = folders.lay_out(&built_libraries()?)?;
        folders.remove_old(&current);
        Ok(BTreeMap::from([("folder".to_owned(), current)]))
    })?;
    let built =
        built.into_values().next().ok_or_else(|| Error::NotBuilt { what: "the plugins".to_owned() })?;
    Ok(folder.insert(built).clone())
}

/// The shared library of the plugin `name` (a folder under `plugins/`), inside [`build_plugins`]' folder.
///
/// # Errors
///
/// As [`build_plugins`], and [`Error::NotBuilt`] if there is no such plugin.
pub fn plugin(name: &str) -> Result<PathBuf, Error> {
    let file = build_plugins()?.join(format!("{DLL_PREFIX}ncz_h5{name}{DLL_SUFFIX}"));
    if file.is_file() { Ok(file) } else { Err(Error::NotBuilt { what: format!("the plugin {name}") }) }
}

/// The program `name` of the workspace, such as `ncz`, built in the profile of the running test.
///
/// A path that cargo or nextest has put into the environment (`CARGO_BIN_EXE_<name>`, `NEXTEST_BIN_EXE_<name>`) is
/// used unchanged.
///
/// # Errors
///
/// [`Error::Failed`] with the compiler's messages if the build fails, [`Error::NotBuilt`] if it gave no program.
pub fn build_binary(name: &str) -> Result<PathBuf, Error> {
    static BINARIES: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut binaries = BINARIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = binaries.get(name) {
        return Ok(path.clone());
    }
    let given =
        ["CARGO_BIN_EXE_", "NEXTEST_BIN_EXE_"].map(|prefix| std::env::var_os(format!("{prefix}{name}")));
    let path = match given.into_iter().flatten().next() {
        Some(path) => PathBuf::from(path),
        None => once_a_run(&format!("program-{name}"), |_| {
            let messages = cargo_build(["--bin", name].map(OsString::from))?;
            let is_wanted = |message: &&Value| {
                message["target"]["kind"][0] == "bin" && message["target"]["name"] == *name
            };
            let built = messages.iter().find(is_wanted).and_then(|message| message["executable"].as_str());
            Ok(built.map(|path| (name.to_owned(), PathBuf::from(path))).into_iter().collect())
        })?
        .remove(name)
        .ok_or_else(|| Error::NotBuilt { what: format!("the program {name}") })?,
    };
    binaries.insert(name.to_owned(), path.clone());
    Ok(path)
}

/// The shared libraries that are examples of a package of the workspace, by the names of the examples, built in the
/// profile of the running test.
///
/// They are where cargo puts them, next to other files. Another build writes to them only if their sources changed.
///
/// # Errors
///
/// [`Error::Failed`] with the compiler's messages if the build fails.
pub fn build_examples(package: &str) -> Result<BTreeMap<String, PathBuf>, Error> {
    once_a_run(&format!("examples-{package}"), |_| {
        let messages = cargo_build([])?;
        let is_wanted = |message: &Value| {
            let id = message["package_id"].as_str().unwrap_or_default();
            message["target"]["kind"][0] == "example"
                && (id.contains(&format!("#{package}@")) || id.contains(&format!("/{package}#")))
        };
        let examples = messages.iter().filter(|message| is_wanted(message));
        let library = |message: &Value| {
            let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
            let file = files.into_iter().find(|name| name.ends_with(DLL_SUFFIX))?;
            Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(file)))
        };
        Ok(examples.filter_map(library).collect())
    })
}

/// The folder with the Python package `ncz` for `PYTHONPATH`, its extension module built in the profile of the running
/// test, with the plugins and programs of a wheel.
///
/// # Errors
///
/// [`Error::Failed`] with the compiler's messages if the build fails, [`Error::NotBuilt`] if it gave no module.
pub fn build_python_package() -> Result<PathBuf, Error> {
    let built = once_a_run("python-package", |root| {
        let messages = cargo_build(["--lib", "--bins"].map(OsString::from))?;
        let is_module = |message: &&Value| message["target"]["name"] == "_ncz";
        let module = messages.iter().find(is_module).and_then(|message| message["filenames"][0].as_str());
        let module = module.ok_or_else(|| Error::NotBuilt { what: "the module of Python".to_owned() })?;
        let folder = root.join("python");
        let mut script = Command::new(workspace_root().join("host/python/build"));
        script.arg("--develop").arg(&folder).env("BUILT", Path::new(module).parent().unwrap_or(root));
        run(&mut script, BUILDING)?.success(&describe(&script))?;
        Ok(BTreeMap::from([("folder".to_owned(), folder)]))
    })?;
    built.into_values().next().ok_or_else(|| Error::NotBuilt { what: "the Python package".to_owned() })
}

/// Builds files, or takes those that another process of this test run has built: under nextest cargo runs once a run
/// for each `what`. `build` gets the folder `<target>/test-plugins/<profile>`, which also holds a lock file and the
/// records.
fn once_a_run(
    what: &str,
    build: impl FnOnce(&Path) -> Result<BTreeMap<String, PathBuf>, Error>,
) -> Result<BTreeMap<String, PathBuf>, Error> {
    let built = Built::of_this_process();
    let mut root = built.target.join("test-plugins");
    root.extend(built.triple);
    root.push(built.profile);
    std::fs::create_dir_all(&root).map_err(Error::io(&root))?;
    let _lock = FileLock::wait(&root.join("lock"), BUILDING)?;
    let record = root.join(format!("{what}.json"));
    let run = std::env::var("NEXTEST_RUN_ID").ok();
    if let Some(run) = &run
        && let Some(files) = recorded(&record, run)
    {
        return Ok(files);
    }
    let files = build(&root)?;
    if let Some(run) = run {
        let text = serde_json::json!({ "run": run, "files": files }).to_string();
        std::fs::write(&record, text).map_err(Error::io(&record))?;
    }
    Ok(files)
}

/// The files of a record of this test run, if they exist.
fn recorded(record: &Path, run: &str) -> Option<BTreeMap<String, PathBuf>> {
    let recorded: Value = serde_json::from_slice(&std::fs::read(record).ok()?).ok()?;
    if recorded["run"] != run {
        return None;
    }
    let files = recorded["files"].as_object()?.iter();
    files
        .map(|(name, path)| Some((name.clone(), PathBuf::from(path.as_str()?))))
        .collect::<Option<BTreeMap<_, _>>>()
        .filter(|files| files.values().all(|path| path.exists()))
}

/// A folder for each build of the plugins.
struct PluginFolders {
    root: PathBuf,
}

impl PluginFolders {
    /// Copies the libraries into a folder that is named after this build. Copies, not links: a linker may write its
    /// output in place while another test has the old one loaded.
    fn lay_out(&self, libraries: &[PathBuf]) -> Result<PathBuf, Error> {
        let mut build = DefaultHasher::new();
        for library in libraries {
            let metadata = library.metadata().map_err(Error::io(library))?;
            (library, metadata.len(), modified(&metadata)).hash(&mut build);
        }
        let folder = self.root.join(format!("{:016x}", build.finish()));
        if folder.is_dir() {
            return Ok(folder);
        }
        let making = tempfile::tempdir_in(&self.root).map_err(Error::io(&self.root))?;
        for library in libraries {
            let name = library.file_name().unwrap_or_default();
            std::fs::copy(library, making.path().join(name)).map_err(Error::io(library))?;
        }
        std::fs::rename(making.path(), &folder).map_err(Error::io(&folder))?;
        Ok(folder)
    }

    /// Removes folders of old builds; what cannot be removed stays for another run.
    fn remove_old(&self, current: &Path) {
        let now = SystemTime::now();
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let path = entry.path();
            let age = entry.metadata().ok().and_then(|metadata| now.duration_since(modified(&metadata)).ok());
            if path != current && path.is_dir() && age.is_some_and(|age| age > KEPT) {
                drop(std::fs::remove_dir_all(&path));
            }
        }
    }
}

/// Builds the package `ncz-<name>-plugin` of each folder `plugins/<name>/cdylib`; their libraries, sorted.
fn built_libraries() -> Result<Vec<PathBuf>, Error> {
    let plugins = workspace_root().join("plugins");
    let mut packages = Vec::new();
    for entry in std::fs::read_dir(&plugins).map_err(Error::io(&plugins))? {
        let folder = entry.map_err(Error::io(&plugins))?.path();
        if let (true, Some(name)) = (folder.join("cdylib/Cargo.toml").is_file(), folder.file_name()) {
            packages.push(format!("ncz-{}-plugin", name.to_string_lossy()));
        }
    }
    let messages = cargo_build(["--lib"].map(OsString::from))?;
    let mut libraries: Vec<PathBuf> = messages
        .iter()
        .filter(|message| {
            message["manifest_path"].as_str().is_some_and(|path| Path::new(path).starts_with(&plugins))
        })
        .filter_map(|message| message["filenames"].as_array())
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| name.ends_with(DLL_SUFFIX))
        .map(PathBuf::from)
        .collect();
    libraries.sort();
    if libraries.len() == packages.len() {
        Ok(libraries)
    } else {
        Err(Error::NotBuilt { what: format!("one library for each of {packages:?}, but {libraries:?}") })
    }
}

/// Builds the examples of the whole workspace and what `selection` adds to them, in the profile of this process, and
/// returns the `compiler-artifact` messages.
///
/// Cargo then chooses the same features as for the tests, and so builds no dependency a second time: features depend on
/// the packages of a build, and those of dev-dependencies count only if it has tests or examples.
///
/// The cargo that runs the tests holds no lock on the target folder, so that this one can use the same.
fn cargo_build(selection: impl IntoIterator<Item = OsString>) -> Result<Vec<Value>, Error> {
    let built = Built::of_this_process();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    // What the outer cargo sets for the package under test would make build scripts run again, and then most of what
    // depends on them.
    for (name, _) in std::env::vars_os() {
        let about_package = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "NEXTEST", "OUT_DIR"]
            .iter()
            .any(|start| about_package.starts_with(start))
        {
            command.env_remove(name);
        }
    }
    command.args(["build", "--locked", "--message-format=json-render-diagnostics"]);
    command.arg("--profile").arg(&built.profile).arg("--target-dir").arg(&built.target);
    if let Some(triple) = &built.triple {
        command.arg("--target").arg(triple);
    }
    command.args(["--workspace", "--examples"]).args(selection);
    let output = run(&mut command, BUILDING)?;
    if !output.status.success() {
        // the messages in JSON would bury the compiler's text
        let output = crate::Output { stdout: Vec::new(), ..output };
        return Err(Error::Failed { program: describe(&command), output: Box::new(output) });
    }
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    Ok(messages.filter(|message| message["reason"] == "compiler-artifact").collect())
}

fn modified(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_every_library_and_a_new_build_gets_a_new_folder() {
        let place = tempfile::tempdir().unwrap();
        let libraries = ["liba.so", "libb.so"].map(|name| place.path().join(name));
        libraries.iter().for_each(|library| std::fs::write(library, "old").unwrap());
        let folders = PluginFolders { root: place.path().to_owned() };
        let old = folders.lay_out(&libraries).unwrap();
        assert_eq!(folders.lay_out(&libraries).unwrap(), old);
        std::fs::write(&libraries[1], "newer").unwrap();
        let new = folders.lay_out(&libraries).unwrap();
        assert_ne!(new, old);
        assert_eq!(std::fs::read(old.join("libb.so")).unwrap(), b"old");
        assert_eq!(std::fs::read(new.join("libb.so")).unwrap(), b"newer");
        assert_eq!(std::fs::read_dir(&new).unwrap().count(), 2);
    }

    #[test]
    fn the_plugins_are_built_and_named_after_their_folders() {
        let folder = build_plugins().unwrap();
        let built = std::fs::read_dir(&folder).unwrap().count();
        assert!(built >= 7, "{built} libraries in {folder:?}");
        assert_eq!(plugin("zstd").unwrap().parent(), Some(folder.as_path()));
        assert!(plugin("nothing").is_err());
    }

    #[test]
    fn examples_are_built_and_named() {
        let libraries = build_examples("ncz-codec").unwrap();
        assert!(libraries["rle"].is_file(), "{libraries:?}");
    }

    #[test]
    fn the_command_is_built() {
        let path = build_binary("ncz").unwrap();
        assert!(path.is_file(), "{path:?}");
        let error = build_binary("no-such-program").unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }
}
