//! The threads that chunks are spread over.

use std::num::NonZeroUsize;
use std::sync::Arc;

/// The threads that a dataset works with: none of its own, a pool that it owns, or one that the
/// embedder lends.
///
/// ```
/// use ncz_nczarr::Pool;
///
/// assert_eq!(Pool::serial().threads(), 1);
/// assert_eq!(Pool::with_threads(2)?.threads(), 2);
/// # Ok::<(), ncz_nczarr::PoolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool(Option<Arc<rayon::ThreadPool>>);

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads")]
pub struct PoolError {
    threads: usize,
    source: rayon::ThreadPoolBuildError,
}

impl Pool {
    /// No threads: the caller's own does all the work.
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
            .map(|pool| Self(Some(Arc::new(pool))))
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
        Self(Some(pool))
    }

    /// How many threads work at the same time.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs `work` on as many threads as there are, but not more than `most`, and waits for all.
    pub fn run(&self, most: u64, work: &(dyn Fn() + Sync)) {
        let workers = usize::try_from(most).unwrap_or(usize::MAX).min(self.threads());
        match &self.0 {
            Some(pool) if workers > 1 => pool.in_place_scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| work());
                }
            }),
            _ => work(),
        }
    }
}
