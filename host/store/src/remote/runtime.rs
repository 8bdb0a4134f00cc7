//! The threads of a remote store.

use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// They move bytes; what waits and what decodes are the callers' threads.
const THREADS: usize = 2;

/// Looking names up blocks; more than this many at a time wait for each other.
const BLOCKING_THREADS: usize = 8;

/// A runtime that starts when it is first needed, so that opening a store costs nothing.
#[derive(Debug)]
pub(crate) struct LazyRuntime {
    name: &'static str,
    started: OnceLock<Runtime>,
}

impl LazyRuntime {
    /// A runtime whose threads get this name; none runs yet.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, started: OnceLock::new() }
    }

    /// The runtime, started.
    pub(crate) fn handle(&self) -> io::Result<&Handle> {
        if self.started.get().is_none() {
            let new = Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(BLOCKING_THREADS)
                .thread_name(self.name)
                .enable_all()
                .build()?;
            if let Err(second) = self.started.set(new) {
                second.shutdown_background(); // another thread was faster
            }
        }
        match self.started.get() {
            Some(runtime) => Ok(runtime.handle()),
            None => Err(io::Error::other("the threads of the store have ended")),
        }
    }

    /// What its threads are called.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl Drop for LazyRuntime {
    /// Does not wait for the threads: a store may be dropped inside another runtime, where waiting is forbidden.
    fn drop(&mut self) {
        if let Some(runtime) = self.started.take() {
            runtime.shutdown_background();
        }
    }
}
