//! What the modules share: scripts, the command, registries, chains.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ncz::codec::{ByteOrder, Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::{ChainSpec, StageSpec};
use ncz_test_support::{Output, Python, build_binary};
use serde_json::Value;

/// What one run of the command may take; also the limit that shows a hang.
const COMMAND: Duration = Duration::from_secs(120);

/// A script of this package.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name)
}

/// Runs a script that succeeds; the JSON that it prints. `plugins` is what `HDF5_PLUGIN_PATH` names.
pub(crate) fn run_json<S: AsRef<OsStr>>(
    python: &Python,
    name: &str,
    args: &[S],
    plugins: Option<&Path>,
) -> Value {
    let output = run_script(python, name, args, plugins);
    let output = output.success(name).unwrap_or_else(|error| panic!("{error}"));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", output.text()))
}

/// Runs a script, whatever its status.
pub(crate) fn run_script<S: AsRef<OsStr>>(
    python: &Python,
    name: &str,
    args: &[S],
    plugins: Option<&Path>,
) -> Output {
    let mut command = match plugins {
        Some(folder) => {
            python.command(&[("HDF5_PLUGIN_PATH", folder.as_os_str()), ("NCZ_LOG", OsStr::new("1"))])
        }
        None => python.command(&[]),
    };
    ncz_test_support::run(command.arg(script(name)).args(args), COMMAND).unwrap()
}

/// Runs `ncz`, whatever its status, without plugins of the environment.
pub(crate) fn ncz<S: AsRef<OsStr>>(args: &[S]) -> Output {
    let mut command = Command::new(build_binary("ncz").unwrap());
    command.env_remove("HDF5_PLUGIN_PATH").env_remove("HDF5_PLUGIN_PRELOAD").env("NO_COLOR", "1");
    ncz_test_support::run(command.args(args), COMMAND).unwrap()
}

/// Runs `ncz` with success.
pub(crate) fn ncz_ok<S: AsRef<OsStr>>(args: &[S]) -> Output {
    ncz(args).success("ncz").unwrap_or_else(|error| panic!("{error}"))
}

/// The built-in codecs, and nothing of this machine.
pub(crate) fn builtins() -> Registry {
    Registry::builder().plugin_path(Vec::new()).build()
}

/// Only the plugins of these folders.
pub(crate) fn plugins(folders: &[&Path]) -> Registry {
    let folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
    Registry::builder().plugin_path(folders).builtins(false).build()
}

/// The type that numpy calls `text`.
pub(crate) fn dtype(text: &str) -> Dtype {
    let (letter, size) = text.trim_start_matches(['<', '>', '|']).split_at(1);
    let kind = match letter {
        "b" => Kind::Bool,
        "i" => Kind::Int,
        "u" => Kind::UInt,
        "f" => Kind::Float,
        "c" => Kind::Complex,
        _ => Kind::Opaque,
    };
    let order = if text.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
    Dtype { kind, size: size.parse().unwrap(), order }
}

/// A chain bound to a chunk that is the whole array.
pub(crate) fn bind(
    registry: &Registry,
    spec: &ChainSpec,
    numpy_dtype: &str,
    shape: &[u64],
    container: Container,
) -> FilterChain {
    try_bind(registry, spec, numpy_dtype, shape, container).unwrap_or_else(|error| panic!("{error}"))
}

/// The same, or why not.
pub(crate) fn try_bind(
    registry: &Registry,
    spec: &ChainSpec,
    numpy_dtype: &str,
    shape: &[u64],
    container: Container,
) -> Result<FilterChain, String> {
    let env = Env {
        dtype: dtype(numpy_dtype),
        array_shape: shape.to_vec(),
        chunk_shape: shape.to_vec(),
        container,
    };
    let stages = spec.resolve(registry).map_err(|error| explained(&error))?;
    FilterChain::bind(&stages, &env).map_err(|error| explained(&error))
}

/// HDF5 filters with the parameters that a file records.
pub(crate) fn filters<'a>(filters: impl IntoIterator<Item = (u32, &'a [u32])>) -> ChainSpec {
    let stages = filters.into_iter().map(|(id, params)| StageSpec::Filter { id, params: params.to_vec() });
    ChainSpec::new(stages.collect())
}

/// An error with its causes.
pub(crate) fn explained(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// A copy of the plugin folder in which one library has a byte changed, without which no loader takes it. (A cut one may
/// still load, or crash netcdf-c.)
pub(crate) fn with_one_damaged(plugins: &Path, name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut damaged = 0;
    for entry in std::fs::read_dir(plugins).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(&format!("h5{name}"))) {
            bytes[0] ^= 1;
            damaged += 1;
        }
        std::fs::write(folder.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    assert_eq!(damaged, 1, "{name} is not among the plugins");
    folder
}

/// Those of the mapped libraries (the entry `""` of what a script prints) that lie in `folder`.
pub(crate) fn mapped_from(printed: &Value, folder: &Path) -> Vec<String> {
    let libraries = printed[""].as_array().unwrap().iter().filter_map(Value::as_str);
    libraries.filter(|library| Path::new(library).starts_with(folder)).map(str::to_owned).collect()
}
