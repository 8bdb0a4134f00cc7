//! The codecs of this process: those of the module, and plugins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ncz::registry::Registry;
use ncz::registry::isolate::{Isolation, WORKER_PROGRAM};
use ncz::registry::registry::Builder;
use ncz::registry::search_path::Environment;
use pyo3::prelude::*;

/// The registry of a process, for the values of the variables that it was made with.
struct Shared {
    process: u32,
    variables: [Option<OsString>; VARIABLES.len()],
    registry: Arc<Registry>,
}

/// What the registry depends on.
const VARIABLES: [&str; 3] = ["HDF5_PLUGIN_PATH", "HDF5_PLUGIN_PRELOAD", "NCZ_PLUGIN_LOCK"];

/// The folder of `ncz-worker`, which the package tells: the running program is Python.
static PROGRAMS: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Locked by attached threads only, as the pool of [`threads`](crate::threads).
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// The codecs to use: those of the folders `plugins` if given, else the ones that all calls of this process share.
pub(crate) fn registry(_: Python<'_>, plugins: Option<Vec<PathBuf>>) -> Arc<Registry> {
    if let Some(folders) = plugins {
        return Arc::new(builder().plugin_path(folders).build());
    }
    let process = std::process::id();
    let variables = VARIABLES.map(std::env::var_os);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = &*shared
        && shared.process == process
        && shared.variables == variables
    {
        return Arc::clone(&shared.registry);
    }
    let registry = Arc::new(builder().build());
    // Worker processes belong to the parent of a fork: the child forgets them.
    std::mem::forget(shared.replace(Shared { process, variables, registry: Arc::clone(&registry) }));
    registry
}

fn builder() -> Builder {
    let programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let worker = programs.map(|folder| folder.join(WORKER_PROGRAM)).filter(|program| program.is_file());
    let mut environment = Environment::capture();
    // `import netCDF4` sets the variable to its own folder: nobody chose that.
    environment.plugin_path =
        environment.plugin_path.filter(|path| !Path::new(path).ends_with("netCDF4/plugins"));
    Registry::builder().environment(environment).isolation(Isolation { worker, ..Isolation::NONE })
}

/// Tells the folder with the program ncz-worker.
#[pyfunction]
fn _set_programs(_py: Python<'_>, folder: PathBuf) {
    *PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_set_programs, module)?)
}
