//! Copies in parts, which the processes of a cluster make: `ncz copy --part` in this process.

use std::ops::ControlFlow;

use ncz::copy::parts::{CodecSet, PartWorker, PartsError, PartsPlan};
use ncz::location::DatasetUrl;
use ncz::progress::Progress;
use pyo3::prelude::*;

use crate::errors::{Failure, Kind};
use crate::threads::{Stop, detached, interruptible};
use crate::{plugins, threads};

/// Stops after Ctrl-C.
struct Stoppable(Stop);

impl Progress for Stoppable {
    fn advance(&self, _: u64) -> ControlFlow<()> {
        if self.0.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Makes a part of a plan. Returns the chunks, the decoded bytes, the stored bytes, and the seconds.
///
/// `threads` is the size of a pool that all parts of this process share.
#[pyfunction]
#[pyo3(signature = (plan, part, threads=None, memory=None, verify=false))]
fn run_part(
    py: Python<'_>,
    plan: String,
    part: usize,
    threads: Option<&Bound<'_, PyAny>>,
    memory: Option<u64>,
    verify: bool,
) -> PyResult<(u64, u64, u64, f64)> {
    let worker = PartWorker { memory, verify, ..worker(py, threads::checked(threads)?)? };
    interruptible(
        py,
        |_| Ok(()),
        move |stop| {
            let plan = PartsPlan::from_json(&plan)?;
            let copied = plan.run(&[part], &worker, &Stoppable(stop.clone()))?;
            let sum = |of: fn(&ncz::copy::VariableSummary) -> u64| copied.variables.iter().map(of).sum();
            let decoded = sum(|variable| variable.decoded);
            let stored = sum(|variable| variable.after);
            Ok((sum(|variable| variable.chunks), decoded, stored, copied.elapsed.as_secs_f64()))
        },
    )
}

/// Where a plan is kept until the copy is finished. Other text than a plan is an error.
#[pyfunction]
fn plan_location(py: Python<'_>, plan: String) -> PyResult<String> {
    detached(py, || Ok(PartsPlan::from_json(&plan)?.kept()?))
}

/// The plan in S3 or on an HTTP server.
#[pyfunction]
fn load_plan(py: Python<'_>, url: String) -> PyResult<String> {
    interruptible(
        py,
        |_| Ok(()),
        move |_| {
            let url = DatasetUrl::parse(&url).map_err(PartsError::from)?;
            Ok(PartsPlan::load(&url)?.to_json()?)
        },
    )
}

/// Checks that this process can make parts of a plan. Nothing is written.
#[pyfunction]
fn check_plan(py: Python<'_>, plan: String) -> PyResult<()> {
    let worker = worker(py, Some(1))?;
    interruptible(py, |_| Ok(()), move |_| Ok(PartsPlan::from_json(&plan)?.check(&worker)?))
}

/// All codecs of this process: the JSON of their names, versions and files.
#[pyfunction]
fn codec_set(py: Python<'_>) -> PyResult<String> {
    let registry = plugins::registry(py, None);
    interruptible(py, |_| Ok(()), move |_| Ok(CodecSet::of(&registry)?.to_json()?))
}

/// In what the codecs of another process differ from those here, both as [`codec_set`] gives them.
#[pyfunction]
fn codec_differences(here: &str, there: &str) -> PyResult<Vec<String>> {
    let read = |text| CodecSet::from_json(text).map_err(Failure::from);
    Ok(read(here)?.differences(&read(there)?))
}

fn worker(py: Python<'_>, threads: Option<usize>) -> Result<PartWorker, Failure> {
    let pool = threads::shared_pool(py, threads)?;
    let registry = plugins::registry(py, None);
    Ok(PartWorker { registry, pool, memory: None, scratch: None, verify: false })
}

impl From<PartsError> for Failure {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::Copy(error) => error.into(),
            PartsError::Location(error) => error.into(),
            PartsError::Codecs { .. } => Self::of(Kind::Codec, &error),
            _ => Self::of(Kind::Error, &error),
        }
    }
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_part, module)?)?;
    module.add_function(wrap_pyfunction!(check_plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan_location, module)?)?;
    module.add_function(wrap_pyfunction!(load_plan, module)?)?;
    module.add_function(wrap_pyfunction!(codec_set, module)?)?;
    module.add_function(wrap_pyfunction!(codec_differences, module)?)
}
