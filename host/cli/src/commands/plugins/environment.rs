//! `ncz plugins env`: a value of `HDF5_PLUGIN_PATH` with which other programs find their plugins too.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use ncz::registry::Registry;
use ncz::registry::known::InstallPrefixes;
use ncz::registry::search_path::{Environment, Folder, Origin, PATH_VARIABLE, PathRequest, SearchPath};
use serde::Serialize;

use crate::args::PluginsEnv;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::messages::Messages;
use crate::output::write_json;
use crate::shell::quoted;

/// The JSON form.
#[derive(Serialize)]
struct EnvReport<'a> {
    schema: u32,
    variable: &'static str,
    value: &'a str,
    folders: &'a [PathBuf],
}

pub(super) fn run(
    options: &PluginsEnv,
    registry: &Registry,
    out: &mut dyn Write,
    messages: Messages,
) -> Result<Exit, CliError> {
    for Folder { path, origin } in &registry.search_path().folders {
        if *origin != Origin::Default && !path.is_dir() {
            messages.warn(&format!("left out: {}: there is no such folder", path.display()));
        }
    }
    let folders = folders(&options.folders, registry)?;
    let texts: Vec<&str> = folders.iter().map(|folder| text(folder)).collect::<Result<_, _>>()?;
    let value = texts.join(":");
    if options.json {
        let report = EnvReport { schema: 1, variable: PATH_VARIABLE, value: &value, folders: &folders };
        write_json(out, &report)?;
    } else if folders.is_empty() {
        // netCDF4 and hdf5plugin set the variable to their own folders only if it is not set, even to nothing.
        messages.warn(&format!("there is no folder with plugins, so {PATH_VARIABLE} is left as it is"));
    } else {
        writeln!(out, "export {PATH_VARIABLE}={}", quoted(&value))?;
    }
    Ok(Exit::Good)
}

/// Returns the folders in the order of the search, each once.
fn folders(named: &[PathBuf], registry: &Registry) -> Result<Vec<PathBuf>, CliError> {
    let mut folders = Vec::new();
    for folder in named {
        let absolute = folder.canonicalize().ok().filter(|path| path.is_dir());
        let missing = || CliError::Usage(format!("{}: there is no such folder", folder.display()));
        folders.push(absolute.ok_or_else(missing)?);
    }
    folders.extend(registry.search_path().folders.iter().map(|folder| folder.path.clone()));
    // Those that are searched only while the variable is not set.
    let unset = Environment { plugin_path: None, ..Environment::capture() };
    let default = SearchPath::resolve(&unset, &PathRequest::default());
    folders.extend(default.folders.into_iter().map(|folder| folder.path));
    let packages =
        InstallPrefixes { hdf5_prefixes: Vec::new(), system: Vec::new(), ..InstallPrefixes::capture() };
    folders.extend(packages.folders().into_iter().filter_map(|folder| std::path::absolute(folder).ok()));
    let mut seen = HashSet::new();
    folders.retain(|folder| {
        folder.is_dir() && seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone()))
    });
    Ok(folders)
}

/// Returns a folder as it stands in the variable, where a colon separates folders.
fn text(folder: &Path) -> Result<&str, CliError> {
    folder.to_str().filter(|text| !text.contains([':', ';'])).ok_or_else(|| {
        let name = folder.display();
        CliError::Usage(format!("{name}: {PATH_VARIABLE} cannot name a folder with a colon, a semicolon or other bytes than UTF-8; rename it"))
    })
}
