//! The threads that chunks are spread over.

mod io_threads;

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncz_store::Store;

use io_threads::Gate;
pub(crate) use io_threads::{compute, on_io_thread};

/// The most bytes of chunks that one operation on an array has in flight to a remote store. Its I/O threads hold at
/// most this, or one chunk for each thread if that is more.
pub const IN_FLIGHT_BYTES: u64 = 256 << 20;

/// The threads that a dataset works with: the caller's thread, a pool that it owns, or a pool that the embedder shares.
///
/// On a local store these threads read, decode, encode and write. On a remote store, such as S3, each request is a
/// network round trip, and so few threads would mostly wait. There an operation starts its own *I/O threads*, which end
/// with it: as many as the store wants [requests in flight](ncz_store::Capabilities::in_flight) and [`IN_FLIGHT_BYTES`]
/// allows. An I/O thread waits for its requests; codecs run on at most as many of them at a time as the pool has
/// [threads](Pool::threads). [`Pool::serial`] has I/O threads too, with codecs on one at a time. Calls that work only
/// on the caller's thread, such as [`Array::read_serial`](crate::Array::read_serial), start no I/O threads.
///
/// ```
/// use ncz_model::Pool;
///
/// assert_eq!(Pool::serial().threads(), 1);
/// assert_eq!(Pool::with_threads(2)?.threads(), 2);
/// # Ok::<(), ncz_model::PoolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool(Option<Threads>);

#[derive(Clone, Debug)]
struct Threads {
    pool: Arc<rayon::ThreadPool>,
    /// Shared by the I/O threads of all operations.
    gate: Arc<Gate>,
}

/// Tasks to spread over a [`Pool`].
///
/// ```
/// use ncz_model::{Pool, Tasks};
///
/// let sums = Pool::with_threads(2)?.for_each(&Tasks::new(100), || 0, |sum, number| {
///     *sum += number;
///     Ok::<(), std::convert::Infallible>(())
/// });
/// assert_eq!(sums.unwrap().into_iter().sum::<u64>(), 4950);
/// # Ok::<(), ncz_model::PoolError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tasks<'a> {
    count: u64,
    stores: &'a [&'a dyn Store],
    bytes: u64,
    limit: u64,
}

impl<'a> Tasks<'a> {
    /// Makes `count` tasks, numbered from 0, that do not wait for a store.
    #[must_use]
    pub fn new(count: u64) -> Self {
        Self { count, stores: &[], bytes: 0, limit: u64::MAX }
    }

    /// Sets the stores that the tasks read and write, and the bytes that each task holds while it waits for them.
    #[must_use]
    pub fn on(self, stores: &'a [&'a dyn Store], bytes: u64) -> Self {
        Self { stores, bytes, ..self }
    }

    /// Limits the tasks that run at the same time; 0 counts as 1.
    #[must_use]
    pub fn at_most(self, limit: u64) -> Self {
        Self { limit: limit.max(1), ..self }
    }
}

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads")]
pub struct PoolError {
    threads: usize,
    source: rayon::ThreadPoolBuildError,
}

/// The most calls of [`Pool::run`] that one thread waits in, each within the one before.
const MOST_WAITS: usize = 4;

thread_local! {
    static WAITS: Cell<usize> = const { Cell::new(0) };
}

/// Counts one call that waits on this thread, until it is dropped.
struct Wait;

impl Wait {
    fn begin() -> Option<Self> {
        let waits = WAITS.get();
        (waits < MOST_WAITS).then(|| {
            WAITS.set(waits + 1);
            Self
        })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        WAITS.set(WAITS.get() - 1);
    }
}

impl Pool {
    /// A pool without threads: the caller's thread does all the work on local stores. On remote stores codecs run on
    /// one thread at a time, while I/O threads wait.
    #[must_use]
    pub fn serial() -> Self {
        Self(None)
    }

    /// A pool of this many threads; one means [`serial`](Self::serial).
    ///
    /// # Errors
    /// The system refuses to start the threads.
    pub fn with_threads(threads: usize) -> Result<Self, PoolError> {
        if threads <= 1 {
            return Ok(Self::serial());
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("ncz-{number}"))
            .build()
            .map(|pool| Self::shared(Arc::new(pool)))
            .map_err(|source| PoolError { threads, source })
    }

    /// A pool with a thread for each core that this process may use.
    ///
    /// # Errors
    /// The system refuses to start the threads.
    pub fn for_this_machine() -> Result<Self, PoolError> {
        Self::with_threads(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// A pool that the embedder shares.
    #[must_use]
    pub fn shared(pool: Arc<rayon::ThreadPool>) -> Self {
        let gate = Arc::new(Gate::new(pool.current_num_threads()));
        Self(Some(Threads { pool, gate }))
    }

    /// The number of threads that work at the same time.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |threads| threads.pool.current_num_threads())
    }

    /// Runs `work` on all threads, but on at most `most`, and waits for them.
    ///
    /// A thread of a pool that waits here runs other tasks of its pool meanwhile, and these may wait here too. Its
    /// stack is limited, so after a few such calls within each other `work` runs only on the thread that calls.
    pub fn run(&self, most: u64, work: &(dyn Fn() + Sync)) {
        let workers = usize::try_from(most).unwrap_or(usize::MAX).min(self.threads());
        let waits = if workers > 1 { Wait::begin() } else { None };
        match (&self.0, waits) {
            (Some(threads), Some(_waits)) => threads.pool.in_place_scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| work());
                }
            }),
            _ => work(),
        }
    }

    /// The number of threads that work at the same time on `tasks` chunks of these stores: the pool's threads for local
    /// stores, otherwise I/O threads, each of which holds `bytes` while it waits.
    #[must_use]
    pub fn workers(&self, stores: &[&dyn Store], tasks: u64, bytes: u64) -> usize {
        let in_flight = stores.iter().map(|store| store.capabilities().in_flight).max().unwrap_or(0);
        let workers = match in_flight {
            _ if on_io_thread() => 1,
            0 | 1 => self.threads(),
            in_flight => {
                let fitting = usize::try_from(IN_FLIGHT_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
                in_flight.min(fitting).max(self.threads())
            }
        };
        usize::try_from(tasks).unwrap_or(usize::MAX).min(workers).max(1)
    }

    /// Runs `work` on as many threads, or I/O threads, as [`workers`](Self::workers) returns, and waits for all. If the
    /// system refuses threads, fewer run. If the caller is an I/O thread, `work` runs only on that thread.
    pub fn run_on(&self, stores: &[&dyn Store], tasks: u64, bytes: u64, work: &(dyn Fn() + Sync)) {
        if on_io_thread() {
            return work();
        }
        if stores.iter().all(|store| store.capabilities().in_flight <= 1) {
            return self.run(tasks, work);
        }
        let gate = self.0.as_ref().map_or_else(|| Arc::new(Gate::new(1)), |threads| threads.gate.clone());
        io_threads::run(&gate, self.workers(stores, tasks, bytes), work);
    }

    /// Calls `step` once for each task, in the order of their numbers, on as many threads or I/O threads as
    /// [`run_on`](Self::run_on) uses. Each thread has its own state, made by `state` and passed to every step on it.
    /// Returns the states, in no particular order.
    ///
    /// # Errors
    /// The first error of a step. No step starts after it; running steps are waited for.
    pub fn for_each<S: Send, E: Send>(
        &self,
        tasks: &Tasks<'_>,
        state: impl Fn() -> S + Sync,
        step: impl Fn(&mut S, u64) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        let next = AtomicU64::new(0);
        let outcome = Mutex::new(Ok(Vec::new()));
        let locked = || outcome.lock().unwrap_or_else(PoisonError::into_inner);
        self.run_on(tasks.stores, tasks.count.min(tasks.limit), tasks.bytes, &|| {
            let mut state = state();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= tasks.count || locked().is_err() {
                    break;
                }
                if let Err(error) = step(&mut state, number) {
                    let mut outcome = locked();
                    if outcome.is_ok() {
                        *outcome = Err(error);
                    }
                    return;
                }
            }
            if let Ok(states) = &mut *locked() {
                states.push(state);
            }
        });
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
