//! Runs foreign libraries in worker processes.
//!
//! C plugins crash on damaged chunks, hang on them, call `exit`, and are not required to support several threads. A
//! library that is isolated is opened by worker processes (the program `ncz-worker`) and never by this one: what
//! happens to a worker costs one error that says what happened, the next call gets a new worker, and as many threads as
//! there are workers call the library at once.
//!
//! ```
//! use ncz_registry::isolate::{Isolation, Which};
//! use ncz_registry::registry::Registry;
//!
//! // Starts nothing before a plugin is looked for.
//! let registry = Registry::builder().isolation(Isolation { which: Which::Foreign, ..Isolation::default() }).build();
//! ```
//!
//! Chunks travel in memory that a worker and its host share; requests and answers are small messages on a socket, the
//! only data that are read from a worker, and nothing in them is trusted. A call is never repeated automatically.
//!
//! Workers end with the process that started them: at once or, if a fork of it holds their channel, within about a
//! second. A fork starts its own workers and does not use the others.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "shares memory with worker processes and asks for their processor time")
)]

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(target_os = "linux")]
mod process;
mod selection;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod worker_end;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) use library::{IsolatedLibrary, open, try_open};
pub use selection::{Selected, Which};
#[cfg(target_os = "linux")]
pub use serve::{is_worker, worker_main};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{IsolatedLibrary, open, try_open};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{is_worker, worker_main};

/// The name of the worker program, next to the running program unless the configuration names another path.
pub const WORKER_PROGRAM: &str = "ncz-worker";

/// The first argument that makes a program a worker.
#[cfg(target_os = "linux")]
const MARK: &str = "--serve-one-library";

/// The result of opening a library in a worker process to test whether the process survives.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no workers here"))]
pub(crate) enum Tried {
    /// The process survived, whether or not the library is usable.
    Survived,
    /// The process ended; the text describes how.
    Ended(String),
    /// No worker could be started, with the reason.
    NoWorker(String),
}

/// The libraries that run in worker processes, and the limits of a worker.
///
/// The limits keep faults within bounds; they do not hold back a library that means harm, which has the user's rights
/// in a worker as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// The selected libraries.
    pub which: Which,
    /// The worker program, from the current folder if it is relative; default [`WORKER_PROGRAM`] next to the running
    /// program.
    pub worker: Option<PathBuf>,
    /// The most workers of one library; without it one for each processor. They start when they are needed.
    pub workers: Option<NonZeroUsize>,
    /// The address space that a library may use in a worker, in bytes. Chunks in transfer do not count.
    pub memory: u64,
    /// The processor time that a call may take, opening the library included.
    pub cpu_time: Duration,
    /// The wall-clock limit of a call; default ten times the processor time.
    pub wall_time: Option<Duration>,
}

impl Isolation {
    /// By default nothing is isolated.
    pub const NONE: Self = Self {
        which: Which::None,
        worker: None,
        workers: None,
        memory: 8 << 30,
        cpu_time: Duration::from_secs(60),
        wall_time: None,
    };

    /// Returns the wall-clock limit of a call.
    pub fn wall_limit(&self) -> Duration {
        self.wall_time.unwrap_or_else(|| self.cpu_time.saturating_mul(10))
    }
}

impl Default for Isolation {
    fn default() -> Self {
        Self::NONE
    }
}
