//! Threads: the pool of this process, work without the interpreter's lock, and Ctrl-C.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ncz::model::Pool;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors::{Failure, Kind};

/// As for `--threads`.
const MOST_THREADS: usize = 1024;
/// The time between two questions whether Ctrl-C was pressed.
const ASK: Duration = Duration::from_millis(50);

/// The threads of one process.
struct Threads {
    process: u32,
    /// What [`set_threads`] chose.
    chosen: Option<usize>,
    pool: Option<Pool>,
    /// The last pool that [`shared_pool`] made.
    of_tasks: Option<(usize, Pool)>,
}

/// Locked by attached threads only, and never while one attaches: no other thread holds it during a fork, so that the
/// child can lock it.
static THREADS: Mutex<Threads> = Mutex::new(Threads { process: 0, chosen: None, pool: None, of_tasks: None });

/// The pool of this process: as many threads as [`set_threads`] said, else as `NCZ_THREADS` says, else one for each
/// core. `threads` asks for a pool of another size, which is not shared.
///
/// The threads of a parent process do not exist after a fork, so that a child makes its own.
///
/// # Errors
/// The system refuses to start threads.
pub(crate) fn pool(_: Python<'_>, threads: Option<usize>) -> Result<Pool, Failure> {
    if let Some(threads) = threads {
        return Ok(Pool::with_threads(threads)?);
    }
    let mut state = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.of_this_process();
    if let Some(pool) = &state.pool {
        return Ok(pool.clone());
    }
    let pool = match state.chosen.or(of_environment()?) {
        Some(threads) => Pool::with_threads(threads)?,
        None => Pool::for_this_machine()?,
    };
    Ok(state.pool.insert(pool).clone())
}

/// A pool of this size that all tasks of this process share which ask for it; `None` is the [`pool`] of the process.
///
/// # Errors
/// The system refuses to start threads.
pub(crate) fn shared_pool(py: Python<'_>, threads: Option<usize>) -> Result<Pool, Failure> {
    let Some(threads) = threads else { return pool(py, None) };
    let mut state = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.of_this_process();
    match &state.of_tasks {
        Some((size, pool)) if *size == threads => Ok(pool.clone()),
        _ => {
            let pool = Pool::with_threads(threads)?;
            state.of_tasks = Some((threads, pool.clone()));
            Ok(pool)
        }
    }
}

/// The number of threads that a caller asks for.
///
/// # Errors
/// It is below 1, above [`MOST_THREADS`], or no integer.
pub(crate) fn checked(threads: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(asked) = threads else { return Ok(None) };
    match asked.extract::<usize>() {
        Ok(threads) if (1..=MOST_THREADS).contains(&threads) => Ok(Some(threads)),
        Err(error) if !error.is_instance_of::<PyOverflowError>(asked.py()) => Err(error),
        // Negative numbers overflow, too.
        _ => Err(out_of_bounds("threads", asked).into()),
    }
}

fn out_of_bounds(name: &str, got: impl Display) -> Failure {
    Failure::new(Kind::Value, format!("{name}: expected 1 to {MOST_THREADS}, got {got}"))
}

/// The number in `NCZ_THREADS`.
fn of_environment() -> Result<Option<usize>, Failure> {
    let Some(text) = std::env::var_os("NCZ_THREADS").filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.to_str().and_then(|text| text.trim().parse().ok()) {
        Some(threads) if (1..=MOST_THREADS).contains(&threads) => Ok(Some(threads)),
        _ => Err(out_of_bounds("NCZ_THREADS", text.display())),
    }
}

impl Threads {
    fn of_this_process(&mut self) -> &mut Self {
        let process = std::process::id();
        if self.process != process {
            // Ending threads that do not exist here would wait forever.
            std::mem::forget(self.pool.take());
            std::mem::forget(self.of_tasks.take());
            self.process = process;
        }
        self
    }
}

/// Sets the number of threads of this process, for datasets that are opened from now on.
///
/// Parameters
/// ----------
/// threads : int, optional
///     From 1 to 1024. None is the default again: ``NCZ_THREADS``, else one for each core.
#[pyfunction]
#[pyo3(signature = (threads=None))]
fn set_threads(threads: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let threads = checked(threads)?;
    let mut state = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.of_this_process();
    state.chosen = threads;
    let old = state.pool.take();
    drop(old);
    Ok(())
}

/// The number of threads of this process.
///
/// Examples
/// --------
/// >>> import ncz
/// >>> ncz.set_threads(2)
/// >>> ncz.threads()
/// 2
/// >>> ncz.set_threads(None)
#[pyfunction]
fn threads(py: Python<'_>) -> PyResult<usize> {
    Ok(pool(py, None)?.threads())
}

/// Runs `work` on this thread, detached from the interpreter: for what takes milliseconds. A panic is an error.
///
/// # Errors
/// Those of `work`.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let done = py.detach(|| guarded(work));
    Ok(done?)
}

/// Tells long work that its caller has stopped waiting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Tells it.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `work` on a thread of its own, while this one waits detached and asks Python for signals: for what may take
/// long. `meanwhile` runs attached at each question.
///
/// After Ctrl-C `work` is told to stop, and left to itself: it owns what it uses, the memory of its result too.
///
/// # Errors
/// `KeyboardInterrupt` and what else a signal handler raises, the errors of `meanwhile` and of `work`.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let stop = Stop::default();
    let (sender, done) = sync_channel(1);
    let thread = {
        let stop = stop.clone();
        // The caller may be gone, which is no error.
        let run = move || drop(sender.send(guarded(|| work(&stop))));
        std::thread::Builder::new().name("ncz-call".to_owned()).spawn(run)
    };
    thread.map_err(|error| Failure::new(Kind::Error, format!("cannot start a thread: {error}")))?;
    let done = Mutex::new(done);
    loop {
        let result = py.detach(|| done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(ASK));
        match result {
            Ok(result) => {
                meanwhile(py)?;
                return Ok(result?);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new(Kind::Error, "a thread ended before its work was done").into());
            }
        }
        if let Err(error) = py.check_signals().and_then(|()| meanwhile(py)) {
            stop.set();
            return Err(error);
        }
    }
}

/// Runs `work`; a panic is a failure.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::panic(&*panic)))
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads, module)?)
}
