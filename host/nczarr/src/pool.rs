//! The threads that chunks are spread over.

mod lanes;

use std::num::NonZeroUsize;
use std::sync::Arc;

use ncz_store::Store;

use lanes::{Gate, run_lanes};
pub(crate) use lanes::{compute, in_lane};

/// Bytes of the chunks that wait for a remote store at the same time, as far as one operation on an array takes
/// them: what their lanes hold is no more than this, unless one chunk for each thread is more.
pub const IN_FLIGHT_BYTES: u64 = 256 << 20;

/// The threads that a dataset works with: none of its own, a pool that it owns, or one that the
/// embedder lends.
///
/// On a store of this machine these threads read, decode, encode and write. Where a request is a round trip, as in
/// S3, so few of them would mostly wait. There an operation has *lanes*: threads of its own, as many as the store
/// wants [requests in flight](ncz_store::Capabilities::in_flight) and [`IN_FLIGHT_BYTES`] allow, that end with it. A
/// lane waits for its requests; codecs run on no more lanes at a time than the pool has [threads](Pool::threads).
/// [`Pool::serial`] has lanes too, with codecs on one at a time. Calls that work on the caller's thread alone, as
/// [`Array::read_with`](crate::Array::read_with), have none.
///
/// ```
/// use ncz_nczarr::Pool;
///
/// assert_eq!(Pool::serial().threads(), 1);
/// assert_eq!(Pool::with_threads(2)?.threads(), 2);
/// # Ok::<(), ncz_nczarr::PoolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool(Option<Threads>);

#[derive(Clone, Debug)]
struct Threads {
    pool: Arc<rayon::ThreadPool>,
    /// All lanes of all operations on these threads share it.
    gate: Arc<Gate>,
}

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads")]
pub struct PoolError {
    threads: usize,
    source: rayon::ThreadPoolBuildError,
}

impl Pool {
    /// No threads: the caller's own does all the work on stores of this machine. On others it does one chunk's at a
    /// time, while lanes wait.
    #[must_use]
    pub fn serial() -> Self {
        Self(None)
    }

    /// Threads of its own, this many; one means [`serial`](Self::serial).
    ///
    /// # Errors
    /// The system refuses to start them.
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

    /// A thread for each core that this process may use.
    ///
    /// # Errors
    /// The system refuses to start them.
    pub fn for_this_machine() -> Result<Self, PoolError> {
        Self::with_threads(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// A pool that the embedder has already.
    #[must_use]
    pub fn shared(pool: Arc<rayon::ThreadPool>) -> Self {
        let gate = Arc::new(Gate::new(pool.current_num_threads()));
        Self(Some(Threads { pool, gate }))
    }

    /// How many threads work at the same time.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |threads| threads.pool.current_num_threads())
    }

    /// Runs `work` on as many threads as there are, but not more than `most`, and waits for all.
    pub fn run(&self, most: u64, work: &(dyn Fn() + Sync)) {
        let workers = usize::try_from(most).unwrap_or(usize::MAX).min(self.threads());
        match &self.0 {
            Some(threads) if workers > 1 => threads.pool.in_place_scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| work());
                }
            }),
            _ => work(),
        }
    }

    /// How many work at the same time on `tasks` chunks of these stores, of which each lane holds `bytes` while it
    /// waits: the threads for stores of this machine, else lanes.
    #[must_use]
    pub fn workers(&self, stores: &[&dyn Store], tasks: u64, bytes: u64) -> usize {
        let in_flight = stores.iter().map(|store| store.capabilities().in_flight).max().unwrap_or(0);
        let workers = match in_flight {
            _ if in_lane() => 1,
            0 | 1 => self.threads(),
            lanes => {
                let fitting = usize::try_from(IN_FLIGHT_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
                lanes.min(fitting).max(self.threads())
            }
        };
        usize::try_from(tasks).unwrap_or(usize::MAX).min(workers).max(1)
    }

    /// Runs `work` on as many threads, or lanes, as [`workers`](Self::workers) says, and waits for all. A system that
    /// refuses lanes has fewer of them. Within a lane `work` runs on that lane.
    pub fn run_on(&self, stores: &[&dyn Store], tasks: u64, bytes: u64, work: &(dyn Fn() + Sync)) {
        if in_lane() {
            return work();
        }
        if stores.iter().all(|store| store.capabilities().in_flight <= 1) {
            return self.run(tasks, work);
        }
        let gate = self.0.as_ref().map_or_else(|| Arc::new(Gate::new(1)), |threads| threads.gate.clone());
        run_lanes(&gate, self.workers(stores, tasks, bytes), work);
    }
}

#[cfg(test)]
mod tests;
