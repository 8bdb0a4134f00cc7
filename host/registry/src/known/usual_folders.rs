//! The folders where plugins are usually installed, which are searched only for reports.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Filter;
use crate::json_text;
use crate::search_path::Platform;
use crate::symbols::{LibraryFinder, inspect};

/// A library outside the search path that could be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsearchedLibrary {
    /// The folder to add to the search path.
    #[serde(serialize_with = "json_text::path")]
    pub folder: PathBuf,
    /// The library.
    #[serde(serialize_with = "json_text::path")]
    pub file: PathBuf,
}

/// The prefixes on this machine below which plugins are usually installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallPrefixes {
    /// Folders below which Python keeps its packages (`<prefix>/lib/python3.x/site-packages`).
    pub python_prefixes: Vec<PathBuf>,
    /// Prefixes with HDF5 or its plugins: conda environments, Homebrew, Spack views, modules.
    pub hdf5_prefixes: Vec<PathBuf>,
    /// Folders of the operating system's packages.
    pub system: Vec<PathBuf>,
}

/// The plugin folders of HDF5 and netCDF below a prefix.
const BELOW_PREFIX: [&str; 5] =
    ["hdf5/lib/plugin", "lib/hdf5/plugin", "lib/plugin", "plugin", "lib/netcdf/plugins"];

impl InstallPrefixes {
    /// The facts from the environment of this process.
    pub fn capture() -> Self {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let at_home = |folder: &str| home.as_ref().map(|home| home.join(folder));

        let conda = variable("CONDA_PREFIX").into_iter();
        let conda = conda.chain(
            ["miniforge3", "miniconda3", "mambaforge", "anaconda3"].iter().filter_map(|it| at_home(it)),
        );
        let conda: Vec<PathBuf> = conda.chain(["/opt/conda".into()]).collect();

        let mut python: Vec<PathBuf> = variable("VIRTUAL_ENV").into_iter().collect();
        // The folder that uv and many tutorials create.
        python.push(".venv".into());
        python.extend(variable("PATH").iter().flat_map(|path| python_on(path.as_os_str())));
        python.extend(conda.iter().cloned());
        python.extend(at_home(".local"));
        python.extend(["/usr/local", "/usr"].map(PathBuf::from));

        let mut hdf5 = conda;
        hdf5.extend(
            ["HDF5_ROOT", "HDF5_DIR", "HDF5_HOME", "EBROOTHDF5", "HOMEBREW_PREFIX"]
                .iter()
                .filter_map(|name| variable(name)),
        );
        hdf5.extend(variable("SPACK_ENV").map(|env| env.join(".spack-env/view")));
        hdf5.extend(["/opt/homebrew", "/usr/local/hdf5", "/usr/local"].map(PathBuf::from));

        let triple = format!("/usr/lib/{}-linux-gnu/hdf5", std::env::consts::ARCH);
        let debian = ["serial/plugins", "openmpi/plugins", "mpich/plugins", "plugins"];
        let mut system: Vec<_> = debian.iter().map(|folder| Path::new(&triple).join(folder)).collect();
        system.extend(
            ["/usr/lib64/hdf5/plugin", "/usr/lib/hdf5/plugin", "/usr/local/hdf5/lib/plugin"]
                .map(PathBuf::from),
        );
        Self { python_prefixes: python, hdf5_prefixes: hdf5, system }
    }

    /// The folders that exist, in a fixed order, each once.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.system.clone();
        for prefix in &self.hdf5_prefixes {
            folders.extend(BELOW_PREFIX.map(|folder| prefix.join(folder)));
        }
        for packages in self.python_prefixes.iter().flat_map(|prefix| python_packages(prefix)) {
            folders.extend(["hdf5plugin/plugins", "netCDF4/plugins"].map(|folder| packages.join(folder)));
        }
        let mut seen = std::collections::HashSet::new();
        folders.retain(|folder| {
            folder.is_dir() && seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone()))
        });
        folders
    }

    /// Returns the libraries in the usual folders that seem to contain `filter`, judged by their names
    /// and exports. None is opened by the loader.
    pub fn serving(&self, filter: &Filter) -> Vec<UnsearchedLibrary> {
        let mut finder = LibraryFinder::system();
        let mut found = Vec::new();
        for folder in self.folders() {
            let mut files: Vec<_> = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            files.sort();
            for file in files {
                let Some(name) = file.file_name() else { continue };
                if Platform::current().matches(name)
                    && filter.may_be(&name.to_string_lossy())
                    && inspect(&file, &mut finder)
                        .is_ok_and(|symbols| symbols.exports.has_hdf5() || symbols.exports.has_native())
                {
                    found.push(UnsearchedLibrary { folder: folder.clone(), file });
                }
            }
        }
        found
    }
}

/// Returns the prefixes of the Pythons on the user's `PATH`. They are not run.
fn python_on(path: &std::ffi::OsStr) -> Vec<PathBuf> {
    let named = std::env::split_paths(path).filter(|folder| {
        folder.file_name().is_some_and(|name| name == "bin") && folder.join("python3").exists()
    });
    named.filter_map(|folder| folder.parent().map(Path::to_owned)).collect()
}

/// The package folders of the Pythons below a prefix.
fn python_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .flat_map(|lib| std::fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|name| entry.path().join(name)))
        .filter(|folder| folder.is_dir())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::super::by_id;
    use super::*;

    #[test]
    fn packages_are_found_below_a_prefix_and_judged_by_what_they_export() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/python3.11/site-packages/hdf5plugin/plugins");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libh5lz4.so"), "no library").unwrap();
        let around =
            InstallPrefixes { python_prefixes: vec![root.path().to_owned()], ..InstallPrefixes::default() };
        assert_eq!(around.folders(), [folder]);
        assert_eq!(around.serving(by_id(32_004).unwrap()), []);
    }

    #[test]
    fn a_folder_that_is_reached_twice_is_reported_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("hdf5/lib/plugin");
        std::fs::create_dir_all(&folder).unwrap();
        let around = InstallPrefixes {
            hdf5_prefixes: vec![root.path().to_owned(), root.path().join("hdf5")],
            system: vec![folder.clone()],
            ..InstallPrefixes::default()
        };
        assert_eq!(around.folders(), [folder]);
    }

    #[test]
    fn the_python_on_the_path_determines_its_prefix() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["bin", "other/bin"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("bin/python3"), "").unwrap();
        let path = std::env::join_paths(["other/bin", "bin"].map(|folder| root.path().join(folder))).unwrap();
        assert_eq!(python_on(&path), [root.path()]);
    }
}
