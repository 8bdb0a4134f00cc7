//! Runs requests on a runtime of the store while the caller's thread waits.

use std::io;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::limiter::{Limiter, ReadAhead};
use super::options::RemoteOptions;
use super::runtime::LazyRuntime;
use crate::error::{ObjectLocation, StoreError};
use crate::key::KeyBuf;
use crate::store::{ReadDone, ReadRange, ReadRequest};

/// Runs the requests of a remote store. It belongs to the store, not to what its requests share.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: LazyRuntime,
    limiter: Limiter,
    in_flight: usize,
}

/// One request of a `read_many`, with all that it needs.
#[derive(Debug)]
pub(crate) struct Job {
    /// The object.
    pub(crate) key: KeyBuf,
    /// The part of it.
    pub(crate) range: ReadRange,
    /// The most bytes that may come.
    pub(crate) max_len: u64,
    /// Where they are to go. It is new for each: one that is kept would take memory while its request waits.
    pub(crate) out: Vec<u8>,
    /// To be given to [`Permit::reserve`](super::limiter::Permit::reserve).
    pub(crate) read_ahead: ReadAhead,
}

impl Engine {
    /// An engine whose threads get this name; none runs before the first request.
    pub(crate) fn new(name: &'static str, options: &RemoteOptions) -> Self {
        let limiter = Limiter::new(options);
        Self { runtime: LazyRuntime::new(name), limiter, in_flight: options.in_flight.max(1) }
    }

    /// The limits that each request observes.
    pub(crate) fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Runs one request while the calling thread waits.
    ///
    /// A thread that runs another runtime's tasks must not wait inside a second runtime; there the request gets a
    /// thread of its own for as long as it takes. That runtime's thread waits all the same: asynchronous programs
    /// call stores where waiting is allowed (`spawn_blocking`).
    pub(crate) fn block_on<T: Send>(
        &self,
        at: impl Fn() -> ObjectLocation,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let not_started = |source| not_started(at(), source);
        let handle = self.runtime.handle().map_err(not_started)?;
        if Handle::try_current().is_err() {
            return handle.block_on(request);
        }
        thread::scope(|scope| {
            let thread = thread::Builder::new().name(self.runtime.name().to_owned());
            let thread = thread.spawn_scoped(scope, || handle.block_on(request)).map_err(not_started)?;
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Reads many objects by `read`, as many at a time as may be in flight, and hands each to `done` on the calling
    /// thread as it comes. After `Break` no more are begun, and those on their way are dropped.
    ///
    /// `read` answers with its job, and whether there was such an object; its bytes are in the job's `out`.
    pub(crate) fn read_many<F>(
        &self,
        requests: &[ReadRequest<'_>],
        at: impl Fn() -> ObjectLocation,
        read: impl Fn(Job) -> F,
        done: &ReadDone<'_>,
    ) where
        F: Future<Output = (Job, Result<bool, StoreError>)> + Send + 'static,
    {
        let mut running = JoinSet::new();
        let (answers, answered) = mpsc::channel();
        let read_ahead = self.limiter.read_ahead();
        let mut waiting = requests.iter().enumerate();
        let mut unanswered = 0;
        loop {
            while unanswered < self.in_flight
                && let Some((index, request)) = waiting.next()
            {
                let handle = match self.runtime.handle() {
                    Ok(handle) => handle,
                    Err(source) => match done(index, Err(not_started(at(), source))) {
                        ControlFlow::Break(()) => return,
                        ControlFlow::Continue(()) => continue,
                    },
                };
                let job = Job {
                    key: request.key.to_buf(),
                    range: request.range,
                    max_len: request.max_len,
                    out: Vec::new(),
                    read_ahead: read_ahead.share(),
                };
                let answer = Answer { index, to: answers.clone(), given: false };
                let request = read(job);
                running.spawn_on(async move { answer.give(request.await) }, handle);
                unanswered += 1;
            }
            if unanswered == 0 {
                return;
            }
            // a sender lives here: this waits for an answer and never fails
            let Ok((index, answer)) = answered.recv() else { return };
            unanswered -= 1;
            while running.try_join_next().is_some() {}
            let step = match answer {
                Some((job, found)) => done(index, found.map(|found| found.then_some(job.out.as_slice()))),
                None => done(index, Err(not_started(at(), io::Error::other("the request has panicked")))),
            };
            if step.is_break() {
                return;
            }
        }
    }
}

type Answered = Option<(Job, Result<bool, StoreError>)>;

/// Sees to it that a request is answered even if it panics.
struct Answer {
    index: usize,
    to: mpsc::Sender<(usize, Answered)>,
    given: bool,
}

impl Answer {
    fn give(mut self, answer: (Job, Result<bool, StoreError>)) {
        self.given = true;
        // nothing is received after a `Break`
        let _ = self.to.send((self.index, Some(answer)));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.given {
            let _ = self.to.send((self.index, None));
        }
    }
}

fn not_started(at: ObjectLocation, source: io::Error) -> StoreError {
    StoreError::Io { action: "start a request to", at, source }
}
