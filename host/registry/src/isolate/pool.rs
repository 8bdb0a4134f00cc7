//! The workers of one library.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ncz_codec::{CodecError, ErrorKind};
use semver::{Comparator, Op, Prerelease, Version};

use super::message::{PROTOCOL, Records, Reply, Request};
use super::process::{Limits, Process};
use super::worker_end::End;
use super::{Isolation, WORKER_PROGRAM};
use crate::allow_list::AllowList;

/// The time limit for a program to identify itself as a worker.
const GREETING: Duration = Duration::from_secs(30);

/// Why no worker for a library can be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("the folder of the running program is not known: {0}; name the worker program")]
    NoFolder(io::Error),
    #[error(
        "the worker program {} cannot be started: {reason}; it is expected next to the program that uses \
         it; another path can be configured", program.display()
    )]
    NoProgram { program: PathBuf, reason: io::Error },
    #[error("{} is not {WORKER_PROGRAM}: {end}{}", program.display(), said(words))]
    NoWorker { program: PathBuf, end: End, words: String },
    #[error(
        "{} is {WORKER_PROGRAM} {version} (protocol {protocol}), this program expects {} (protocol {PROTOCOL}); \
         use both of one release", program.display(), env!("CARGO_PKG_VERSION")
    )]
    OtherVersion { program: PathBuf, version: String, protocol: String },
    #[error("opening it in a worker process fails: {end}{}", said(words))]
    Died { end: End, words: String },
    #[error("{0}")]
    Refused(String),
    #[error("the file has changed since it was opened first; start this program again")]
    Changed,
}

/// The workers of one library. They start when they are needed; dropping ends them.
pub(super) struct Pool {
    library: PathBuf,
    /// The part of the allow-list that admits the library, in JSON, if there is a list.
    allow_list: Option<String>,
    program: PathBuf,
    most: usize,
    memory: u64,
    limits: Limits,
    records: Records,
    /// The file that was opened first. With a list every worker compares the bytes.
    file: Option<Identity>,
    state: Mutex<State>,
    /// A worker is idle, or may be started.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// The last to be used comes first: its memory is warm.
    idle: Vec<Process>,
    /// The number of workers, idle or not.
    live: usize,
    /// The process that they belong to.
    owner: u32,
}

/// The identity and state of a file, which change when it is replaced or written to.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    place: (u64, u64),
    len: i64,
    modified: (i64, i64),
}

impl Pool {
    /// Opens `library` in a first worker, which stays for the first call.
    pub(super) fn open(
        library: &Path,
        isolation: &Isolation,
        allow_list: Option<&AllowList>,
    ) -> Result<Arc<Self>, StartError> {
        let program = match &isolation.worker {
            // Workers start in another folder.
            Some(program) => std::path::absolute(program)
                .map_err(|reason| StartError::NoProgram { program: program.clone(), reason })?,
            None => {
                let own = std::env::current_exe().map_err(StartError::NoFolder)?;
                own.with_file_name(WORKER_PROGRAM)
            }
        };
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut pool = Self {
            library: library.to_owned(),
            allow_list: allow_list.map(|list| list.only(library).to_json().to_string()),
            program,
            most: isolation.workers.map_or_else(processors, NonZeroUsize::get),
            memory: isolation.memory,
            limits: Limits { cpu: isolation.cpu_time, wall: isolation.wall_limit() },
            records: Records::default(),
            file: if allow_list.is_none() { Identity::of(library) } else { None },
            state: Mutex::default(),
            freed: Condvar::new(),
        };
        let (worker, records) = pool.start()?;
        pool.records = records;
        let state = pool.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        *state = State { idle: vec![worker], live: 1, owner: std::process::id() };
        Ok(Arc::new(pool))
    }

    /// The codecs of the library.
    pub(super) fn records(&self) -> &Records {
        &self.records
    }

    /// Has an idle worker end as programs do, and not by a signal as workers do otherwise.
    ///
    /// # Errors
    /// How it ended, if not well, and what it printed last.
    pub(super) fn exit(&self) -> Result<(), (End, String)> {
        let Some(mut worker) = self.state().idle.pop() else { return Ok(()) };
        self.one_less();
        let ended = worker.call(&Request::Exit, self.opening());
        match ended {
            Err(End::Status(status)) if status.success() => Ok(()),
            // A program that ignores SIGCHLD gets no exit status of its children.
            Err(End::Unknown) => Ok(()),
            Err(end) => Err((end, worker.last_words())),
            Ok(_) => Err((End::Nonsense("an answer to another question"), worker.last_words())),
        }
    }

    /// Runs a task in an idle worker, or a new one. If the worker ends, that is an error that names what it was
    /// `doing`; the next caller gets a new worker.
    pub(super) fn call<T>(
        &self,
        doing: impl Fn() -> String,
        work: impl FnOnce(&mut Process, Limits) -> Result<Result<T, CodecError>, End>,
    ) -> Result<T, CodecError> {
        let mut worker = self.take(&doing)?;
        match work(&mut worker, self.limits) {
            Ok(result) => {
                self.release(worker);
                result
            }
            Err(end) => {
                let words = worker.last_words();
                drop(worker);
                self.one_less();
                let text = format!(
                    "{} while {} in a worker process: {end}{}; {}",
                    self.library.display(),
                    doing(),
                    said(&words),
                    end.remedy()
                );
                Err(CodecError::new(ErrorKind::Plugin { code: end.code() }, text))
            }
        }
    }

    /// An idle worker, a new one if there may be more, or the next that becomes idle.
    fn take(&self, doing: &impl Fn() -> String) -> Result<Process, CodecError> {
        let mut state = self.state();
        loop {
            if state.owner != std::process::id() {
                // This process is a copy of the one that has the workers.
                *state = State { owner: std::process::id(), ..State::default() };
            }
            while let Some(worker) = state.idle.pop() {
                if worker.is_idle() {
                    return Ok(worker);
                }
                // It was killed, or its plugin's threads did something, between calls: no call is to suffer.
                state.live -= 1;
            }
            if state.live < self.most {
                state.live += 1;
                break;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let started = self.start().and_then(|(worker, records)| {
            if records == self.records { Ok(worker) } else { Err(StartError::Changed) }
        });
        started.map_err(|error| {
            self.one_less();
            CodecError::unsupported(format!("{} for {}: {error}", self.library.display(), doing()))
        })
    }

    /// The time limit of opening and closing.
    fn opening(&self) -> Limits {
        Limits { wall: self.limits.wall.max(GREETING), ..self.limits }
    }

    fn release(&self, worker: Process) {
        if worker.is_ours() {
            self.state().idle.push(worker);
            self.freed.notify_one();
        }
    }

    fn one_less(&self) {
        let mut state = self.state();
        state.live = state.live.saturating_sub(1);
        drop(state);
        self.freed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the library is still the file that was opened first: in this process it could not change either.
    fn check_file(&self) -> Result<(), StartError> {
        match &self.file {
            Some(first) if Identity::of(&self.library).as_ref() != Some(first) => Err(StartError::Changed),
            _ => Ok(()),
        }
    }

    /// Starts a worker and has it open the library, which is the same as before.
    fn start(&self) -> Result<(Process, Records), StartError> {
        self.check_file()?;
        let program = || self.program.clone();
        let mut worker = Process::start(&self.program)
            .map_err(|reason| StartError::NoProgram { program: program(), reason })?;
        match worker.receive(Limits { cpu: GREETING, wall: GREETING }) {
            Ok(Reply::Hello { protocol, version: _ }) if speaks(&protocol) => {}
            Ok(Reply::Hello { protocol, version }) => {
                return Err(StartError::OtherVersion { program: program(), version, protocol });
            }
            other => {
                let end = other.err().unwrap_or(End::Nonsense("another message first"));
                return Err(StartError::NoWorker { program: program(), end, words: worker.last_words() });
            }
        }
        let open = Request::Open {
            path: self.library.clone(),
            memory: self.memory,
            allow_list: self.allow_list.clone(),
        };
        match worker.call(&open, self.opening()) {
            // Once more, as it may have been replaced before it was opened.
            Ok(Reply::Opened(records)) => self.check_file().map(|()| (worker, records)),
            Ok(Reply::Refused(reason)) => Err(StartError::Refused(reason)),
            other => {
                let end = other.err().unwrap_or(End::Nonsense("an answer to another question"));
                Err(StartError::Died { end, words: worker.last_words() })
            }
        }
    }
}

impl Identity {
    fn of(file: &Path) -> Option<Self> {
        let stat = rustix::fs::stat(file).ok()?;
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).ok()?);
        Some(Self { place: (stat.st_dev, stat.st_ino), len: stat.st_size, modified })
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("library", &self.library)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// Whether a worker with this version of the protocol understands this program, and this program understands it.
fn speaks(protocol: &str) -> bool {
    let wanted = Comparator {
        op: Op::Caret,
        major: PROTOCOL.major,
        minor: Some(PROTOCOL.minor),
        patch: Some(PROTOCOL.patch),
        pre: Prerelease::EMPTY,
    };
    Version::parse(protocol).is_ok_and(|protocol| wanted.matches(&protocol))
}

/// Returns the last line that a worker printed, as the end of a sentence.
pub(super) fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" (it printed {words:?})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_of_the_same_major_protocol_that_knows_as_much_serves() {
        let Version { major, minor, .. } = PROTOCOL;
        assert!(speaks(&PROTOCOL.to_string()));
        assert!(speaks(&format!("{major}.{}.0", minor + 1)));
        assert!(!speaks(&format!("{}.0.0", major + 1)));
        assert!(!speaks(&format!("{}.9.9", major - 1)));
        assert!(!speaks("3") && !speaks(""));
    }
}
