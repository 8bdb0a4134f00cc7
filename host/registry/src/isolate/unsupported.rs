//! Systems without what workers are made of.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use super::{Isolation, Tried};
use crate::load::{Bound, FilterHalf, JsonHalf};
use crate::lock::Lock;

const REASON: &str = "worker processes are not supported on this system, only on Linux";

/// What a library would offer from within workers.
pub(crate) struct Halves {
    pub(crate) natives: usize,
    pub(crate) filter: Option<Arc<dyn FilterHalf>>,
    pub(crate) codec: Option<Arc<dyn JsonHalf>>,
    pub(crate) defaults: Vec<Arc<dyn JsonHalf>>,
    /// Whom the library asks, if that is known.
    pub(crate) bound: Option<Bound>,
    /// Parts that are refused, each with its reason.
    pub(crate) refused: Vec<String>,
}

/// Does nothing: there are no workers here.
pub(crate) fn try_open(_: &Path, _: &Isolation, _: Option<&Lock>) -> Tried {
    Tried::NoWorker(REASON.to_owned())
}

/// Refuses.
///
/// # Errors
/// Always: there are no workers here.
pub(crate) fn open(_: &Path, _: &Isolation, _: Option<&Lock>) -> Result<Halves, String> {
    Err(REASON.to_owned())
}

/// Whether this process was started as a worker: never here.
pub fn is_worker() -> bool {
    false
}

/// The `main` of the worker program: says that there are no workers on this system.
pub fn worker_main() -> ExitCode {
    eprintln!("{REASON}");
    ExitCode::from(2)
}
