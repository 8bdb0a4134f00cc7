//! Running a chain over the sample, and the clock.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ncz_nczarr::Pool;
use ncz_registry::chain::{ChainError, ChainScratch, FilterChain};

use super::sample::Sample;

/// A time shorter than this is not measured but summed up over several passes.
const SHORTEST: Duration = Duration::from_millis(10);

/// The place where chains run: the sample, the threads and the buffers.
pub(super) struct Lab<'a> {
    sample: &'a Sample,
    pool: &'a Pool,
    /// The encoded chunks of the chain that is running.
    stored: Vec<Mutex<Vec<u8>>>,
    benches: Mutex<Vec<Vec<u8>>>,
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

/// What a chain did wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
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

impl<'a> Lab<'a> {
    pub(super) fn new(sample: &'a Sample, pool: &'a Pool) -> Self {
        let stored = sample.chunks.iter().map(|_| Mutex::default()).collect();
        Self { sample, pool, stored, benches: Mutex::default() }
    }

    /// Runs a chain for the first time and compares; `None`: the deadline came first.
    pub(super) fn check(&self, chain: &FilterChain, deadline: Instant) -> Result<Option<Checked>, Fault> {
        let scratches = Mutex::default();
        let Some(encode) = self.encode(chain, &scratches, Some(deadline))? else { return Ok(None) };
        let stored = self.stored.iter().map(|chunk| locked(chunk).len() as u64).sum();
        let Some(decode) = self.decode(chain, &scratches, Some(deadline), false)? else { return Ok(None) };
        let Some(_) = self.decode(chain, &scratches, Some(deadline), true)? else { return Ok(None) };
        Ok(Some(Checked { stored, first: Run { encode, decode } }))
    }

    /// Runs a chain for the clock. The first pass, which makes its contexts, does not count.
    pub(super) fn run(&self, chain: &FilterChain) -> Result<Run, Fault> {
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
    ) -> Result<Option<Duration>, Fault> {
        self.pass(chain, scratches, deadline, |scratch, _, at| {
            let encoded = chain.encode(scratch, &self.sample.chunks[at])?;
            // Whoever stores a chunk takes it from here, and so is the copy.
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
    ) -> Result<Option<Duration>, Fault> {
        self.pass(chain, scratches, deadline, |scratch, chunk, at| {
            let want = &self.sample.chunks[at];
            chunk.resize(want.len(), 0);
            if compare {
                // What is left in the buffer from before must not pass for a result.
                chunk.fill(!want.first().copied().unwrap_or(0));
            }
            chain.decode(0, scratch, &locked(&self.stored[at]), chunk)?;
            if compare && chunk != want {
                let byte = chunk.iter().zip(want).position(|(got, want)| got != want).unwrap_or(0);
                return Err(Fault::Differs { byte, want: want[byte], got: chunk[byte] });
            }
            Ok(())
        })
    }

    /// Calls `step` for each chunk on all threads; `None`: the deadline came first.
    fn pass(
        &self,
        chain: &FilterChain,
        scratches: &Mutex<Vec<ChainScratch>>,
        deadline: Option<Instant>,
        step: impl Fn(&mut ChainScratch, &mut Vec<u8>, usize) -> Result<(), Fault> + Sync,
    ) -> Result<Option<Duration>, Fault> {
        let next = AtomicUsize::new(0);
        let late = AtomicBool::new(false);
        let failure: Mutex<Option<Fault>> = Mutex::new(None);
        let started = Instant::now();
        self.pool.run(self.sample.chunks.len() as u64, &|| {
            let mut scratch = locked(scratches).pop().unwrap_or_else(|| chain.scratch());
            let mut chunk = locked(&self.benches).pop().unwrap_or_default();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= self.sample.chunks.len() || locked(&failure).is_some() {
                    break;
                }
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    late.store(true, Ordering::Relaxed);
                    break;
                }
                if let Err(fault) = step(&mut scratch, &mut chunk, at) {
                    locked(&failure).get_or_insert(fault);
                }
            }
            locked(scratches).push(scratch);
            locked(&self.benches).push(chunk);
        });
        let elapsed = started.elapsed();
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => Err(fault),
            None => Ok((!late.into_inner()).then_some(elapsed)),
        }
    }
}

/// The time of one pass: of several if one is too short for the clock, behind one that does not count if it is short
/// enough to be done twice.
fn repeated(mut pass: impl FnMut() -> Result<Option<Duration>, Fault>) -> Result<Duration, Fault> {
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
