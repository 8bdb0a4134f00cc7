//! Runs a chain over the sample, and measures the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ncz_model::{Pool, Tasks};
use ncz_registry::chain::{ChainError, ChainScratch, FilterChain};

use super::sample::Sample;

/// Times shorter than this are measured over several passes.
const SHORTEST: Duration = Duration::from_millis(10);

/// What chains run on: the sample, the threads and the buffers.
pub(super) struct Harness<'a> {
    sample: &'a Sample,
    pool: &'a Pool,
    /// The encoded chunks of the chain that is running.
    stored: Vec<Mutex<Vec<u8>>>,
    chunks: Mutex<Vec<Vec<u8>>>,
}

/// The times of one pass over the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) encode: Duration,
    pub(super) decode: Duration,
}

/// A chain that gave back what went in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// Bytes as stored.
    pub(super) stored: u64,
    /// With cold caches and fresh memory.
    pub(super) first: Run,
}

/// Why a chain did not give back the sample.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialError {
    #[error("it failed")]
    Chain(#[from] ChainError),
    #[error("byte {byte} of a chunk comes back as {got}, and was {want}: it is not lossless, or broken")]
    Differs { byte: usize, want: u8, got: u8 },
}

impl Run {
    pub(super) fn cost(self) -> Duration {
        self.encode + self.decode
    }
}

impl<'a> Harness<'a> {
    pub(super) fn new(sample: &'a Sample, pool: &'a Pool) -> Self {
        let stored = sample.chunks.iter().map(|_| Mutex::default()).collect();
        Self { sample, pool, stored, chunks: Mutex::default() }
    }

    /// Runs a chain for the first time and compares; `None`: the deadline came first.
    pub(super) fn check(
        &self,
        chain: &FilterChain,
        deadline: Instant,
    ) -> Result<Option<Checked>, TrialError> {
        let scratches = Mutex::default();
        let Some(encode) = self.encode(chain, &scratches, Some(deadline))? else { return Ok(None) };
        let stored = self.stored.iter().map(|chunk| locked(chunk).len() as u64).sum();
        let Some(decode) = self.decode(chain, &scratches, Some(deadline), false)? else { return Ok(None) };
        let Some(_) = self.decode(chain, &scratches, Some(deadline), true)? else { return Ok(None) };
        Ok(Some(Checked { stored, first: Run { encode, decode } }))
    }

    /// Measures a chain. The first pass, which creates its contexts, does not count.
    pub(super) fn run(&self, chain: &FilterChain) -> Result<Run, TrialError> {
        let scratches: Mutex<Vec<ChainScratch>> = Mutex::default();
        for _ in 0..self.pool.threads() {
            locked(&scratches).push(chain.scratch());
        }
        let encode = repeated(|| self.encode(chain, &scratches, None))?;
        let decode = repeated(|| self.decode(chain, &scratches, None, false))?;
        Ok(Run { encode, decode })
    }

    fn encode(
        &self,
        chain: &FilterChain,
        scratches: &Mutex<Vec<ChainScratch>>,
        deadline: Option<Instant>,
    ) -> Result<Option<Duration>, TrialError> {
        self.pass(chain, scratches, deadline, |scratch, _, at| {
            let encoded = chain.encode(scratch, &self.sample.chunks[at])?;
            // A writer would take the bytes from here, so the time of a copy is part of the measurement.
            let mut stored = locked(&self.stored[at]);
            stored.clear();
            stored.extend_from_slice(encoded);
            Ok(())
        })
    }

    fn decode(
        &self,
        chain: &FilterChain,
        scratches: &Mutex<Vec<ChainScratch>>,
        deadline: Option<Instant>,
        compare: bool,
    ) -> Result<Option<Duration>, TrialError> {
        self.pass(chain, scratches, deadline, |scratch, chunk, at| {
            let want = &self.sample.chunks[at];
            chunk.resize(want.len(), 0);
            if compare {
                // Earlier bytes in the buffer must not be taken for a result.
                chunk.fill(!want.first().copied().unwrap_or(0));
            }
            chain.decode(0, scratch, &locked(&self.stored[at]), chunk)?;
            if compare && chunk != want {
                let byte = chunk.iter().zip(want).position(|(got, want)| got != want).unwrap_or(0);
                return Err(TrialError::Differs { byte, want: want[byte], got: chunk[byte] });
            }
            Ok(())
        })
    }

    /// Calls `step` for each chunk on all threads; `None` if the deadline came first.
    fn pass(
        &self,
        chain: &FilterChain,
        scratches: &Mutex<Vec<ChainScratch>>,
        deadline: Option<Instant>,
        step: impl Fn(&mut ChainScratch, &mut Vec<u8>, usize) -> Result<(), TrialError> + Sync,
    ) -> Result<Option<Duration>, TrialError> {
        let late = AtomicBool::new(false);
        let started = Instant::now();
        let count = self.sample.chunks.len() as u64;
        let states = self.pool.for_each(
            &Tasks::new(count),
            || {
                let scratch = locked(scratches).pop().unwrap_or_else(|| chain.scratch());
                (scratch, locked(&self.chunks).pop().unwrap_or_default())
            },
            |(scratch, chunk), at| {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    late.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                step(scratch, chunk, at as usize)
            },
        )?;
        let elapsed = started.elapsed();
        for (scratch, chunk) in states {
            locked(scratches).push(scratch);
            locked(&self.chunks).push(chunk);
        }
        Ok((!late.into_inner()).then_some(elapsed))
    }
}

/// The time of one pass, after a warm-up unless that is long; the mean of several passes if one is too short to
/// measure.
fn repeated(mut pass: impl FnMut() -> Result<Option<Duration>, TrialError>) -> Result<Duration, TrialError> {
    let warm = pass()?.unwrap_or_default();
    if warm > 20 * SHORTEST {
        return Ok(warm);
    }
    let (mut sum, mut passes) = (Duration::ZERO, 0);
    while sum < SHORTEST {
        sum += pass()?.unwrap_or(SHORTEST);
        passes += 1;
    }
    Ok(sum / passes)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
