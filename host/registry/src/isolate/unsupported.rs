//! Stubs for systems without support for workers.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use semver::Version;

use super::{Isolation, Tried};
use crate::allow_list::AllowList;
use crate::load::{FilterFunction, Hdf5Provider, JsonTranslator};

const REASON: &str = "worker processes are not supported on this system, only on Linux";

/// The codecs of a library that runs in workers.
pub(crate) struct IsolatedLibrary {
    pub(crate) natives: usize,
    pub(crate) filter: Option<Arc<dyn FilterFunction>>,
    pub(crate) codec: Option<Arc<dyn JsonTranslator>>,
    pub(crate) defaults: Vec<Arc<dyn JsonTranslator>>,
    /// The provider of libhdf5's functions for the library, if known.
    pub(crate) hdf5_provider: Option<Hdf5Provider>,
    /// Parts that are refused, each with its reason.
    pub(crate) refused: Vec<String>,
    /// The version that the plugin states, and that of the interface that it was built for.
    pub(crate) version: Option<Version>,
    pub(crate) interface: Option<Version>,
}

/// Does nothing: workers are not supported here.
pub(crate) fn try_open(_: &Path, _: &Isolation, _: Option<&AllowList>) -> Tried {
    Tried::NoWorker(REASON.to_owned())
}

/// Refuses.
///
/// # Errors
/// Always: workers are not supported here.
pub(crate) fn open(_: &Path, _: &Isolation, _: Option<&AllowList>) -> Result<IsolatedLibrary, String> {
    Err(REASON.to_owned())
}

/// Whether this process was started as a worker: never here.
pub fn is_worker() -> bool {
    false
}

/// The `main` of the worker program: reports that this system does not support workers.
pub fn worker_main() -> ExitCode {
    eprintln!("{REASON}");
    ExitCode::from(2)
}
