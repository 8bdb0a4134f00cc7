//! The inside of a worker: a process that runs one check and ends.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ncz_codec::{CodecType, Names};
use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

use crate::cases;
use crate::check::Target;
use crate::error::chain;
use crate::job::{Answer, Job, MARK, Task};
use crate::outcome::{Outcome, Verdict};
use crate::results::TargetFacts;
use crate::subject::Subject;
use crate::trial::{Progress, Trial};
use crate::watchdog::Watchdog;

/// No process for a check gets more address space: a plugin that believes a stated length of 4 GiB gets no memory,
/// and the machine keeps its own.
const ADDRESS_SPACE: u64 = 4 << 30;
/// Nor may it write longer files, its output among them.
const FILE_LENGTH: u64 = 256 << 20;
/// A longer step is truncated in the file.
const STEP_MAX: usize = 2000;

static READY: AtomicBool = AtomicBool::new(false);
static EXPORTED: AtomicBool = AtomicBool::new(false);

/// Turns this process into a worker if it was started as one; returns in every other.
///
/// A run starts workers from the program that it is part of, so that program calls this first thing in its `main`.
///
/// ```no_run
/// fn main() -> Result<(), ncz_conform::error::Error> {
///     ncz_conform::worker::run_if_asked();
///     let run = ncz_conform::Conformance::of("target/debug/libmy_plugin.so").level(3).run()?;
///     println!("{}", run.libraries[0].verdict(3));
///     Ok(())
/// }
/// ```
pub fn run_if_asked() {
    READY.store(true, Ordering::SeqCst);
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_none_or(|first| first != MARK) {
        return;
    }
    match Job::from_arguments(arguments.into_iter()) {
        Some(job) => run(&job),
        None => {
            eprintln!("error: {MARK} is for the runner's own use");
            process::exit(2);
        }
    }
}

/// Declares that this program exports [`ncz_registry::load::probe::allocate`] and its sisters under the names of
/// libhdf5's memory functions, so that plugins find them. To be called before [`run_if_asked`].
pub fn exports_allocator() {
    EXPORTED.store(true, Ordering::SeqCst);
}

/// Whether plugins find the caller's allocator in this program.
pub(crate) fn has_exported_allocator() -> bool {
    EXPORTED.load(Ordering::SeqCst)
}

/// Whether [`run_if_asked`] was called.
pub(crate) fn is_ready() -> bool {
    READY.load(Ordering::SeqCst)
}

/// Does the job and ends the process, by way of the exit handlers that the plugin left.
fn run(job: &Job) -> ! {
    let own = getpid();
    limit(Resource::Core, 0);
    limit(Resource::As, ADDRESS_SPACE);
    limit(Resource::Fsize, FILE_LENGTH);
    die_with_parent();
    let answer = panic::catch_unwind(AssertUnwindSafe(|| answer(job)));
    let answer = answer.unwrap_or_else(|panic| Answer::Bug(panic_text(&*panic)));
    // A plugin that forked in a call returns here twice. The child reports nothing.
    if getpid() == own
        && let Err(error) = job.write(&answer)
    {
        // If the disk is full, this cannot be written either.
        let _ = writeln!(io::stderr(), "error: the result cannot be written: {error}");
    }
    process::exit(0);
}

fn answer(job: &Job) -> Answer {
    match &job.task {
        Task::Inspect => match Subject::open(&job.library) {
            Ok(subject) => Answer::Targets(targets(&subject)),
            Err(error) => Answer::Closed(chain(&error)),
        },
        Task::Check(id, target) => {
            let Some(check) = cases::by_id(id) else {
                return Answer::Bug(format!("there is no check {id}"));
            };
            match Recorder::new(job) {
                Ok(recorder) => Answer::Outcome(
                    Trial::new(check, target.clone(), &job.library, job.settings.clone(), Box::new(recorder))
                        .run(check),
                ),
                Err(error) => Answer::Bug(format!("{}: {error}", job.step_file().display())),
            }
        }
    }
}

/// The descriptions of a library's parts.
fn targets(subject: &Subject) -> Vec<TargetFacts> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let facts = |target: &Target| match target {
        Target::Library => Vec::new(),
        Target::Hdf5(_) => subject.hdf5().map_or_else(Vec::new, |half| {
            let does = match (half.encodes(), half.decodes()) {
                (true, true) => "encodes and decodes",
                (true, false) => "encodes only",
                (false, true) => "decodes only",
                (false, false) => "neither encodes nor decodes",
            };
            let mut facts = vec![fact("name", half.name().to_owned()), fact("does", does.to_owned())];
            let functions = [("can_apply", half.has_can_apply()), ("set_local", half.has_set_local())];
            let functions: Vec<_> =
                functions.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
            if !functions.is_empty() {
                facts.push(fact("functions", functions.join(", ")));
            }
            facts
        }),
        Target::Codec(name) => {
            let half = subject.codecs().find(|half| half.codec_id() == name);
            half.map_or_else(Vec::new, |half| {
                vec![fact(TargetFacts::FILTER_ID, half.filter_id().to_string())]
            })
        }
        Target::Native(name) => {
            let codec = subject.native().iter().find(|codec| codec.info().name == *name);
            codec.map_or_else(Vec::new, |codec| {
                let info = codec.info();
                let join = |names: &Names| names.iter().collect::<Vec<_>>().join(", ");
                let id = info.filter_id.map(|id| fact(TargetFacts::FILTER_ID, id.to_string()));
                let numcodecs =
                    (!info.numcodecs.is_empty()).then(|| fact("numcodecs", join(&info.numcodecs)));
                let zarr = (!info.zarr_v3.is_empty()).then(|| fact("Zarr v3", join(&info.zarr_v3)));
                let summary = [fact("summary", info.summary.to_string())];
                summary.into_iter().chain(id).chain(numcodecs).chain(zarr).collect()
            })
        }
    };
    subject.targets().into_iter().map(|target| TargetFacts { facts: facts(&target), target }).collect()
}

/// Writes the steps of a trial to a file, and ends the process when one of them exceeds its limit.
struct Recorder {
    job: Job,
    file: File,
    last: Arc<Mutex<String>>,
    watchdog: Option<Watchdog>,
}

impl Recorder {
    fn new(job: &Job) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(job.step_file())?;
        Ok(Self { job: job.clone(), file, last: Arc::default(), watchdog: None })
    }
}

impl Progress for Recorder {
    fn step(&mut self, what: &str) {
        let what = &what[..what.floor_char_boundary(STEP_MAX)];
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        last.push_str(what);
        // The new line ends the step: the file is not cut for each, and a longer one may have stood there.
        let line = [what.replace('\n', " ").as_bytes(), b"\n"].concat();
        // A step that cannot be named is missing in a report, and harms nothing else.
        let _ = self.file.write_all_at(&line, 0);
    }

    fn watch(&mut self, limit: Duration) {
        let dog = self.watchdog.get_or_insert_with(|| {
            let (job, last) = (self.job.clone(), Arc::clone(&self.last));
            Watchdog::start(move |limit| {
                let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let message =
                    format!("more than {:.1} s of processor time, while: {last}", limit.as_secs_f64());
                // Not written: the runner finds no answer, and calls it a crash by SIGKILL.
                let _ = job.write(&Answer::Outcome(Outcome::new(Verdict::Hung, message)));
                end_at_once();
            })
        });
        dog.watch(limit);
    }

    fn rest(&mut self) {
        if let Some(dog) = &self.watchdog {
            dog.rest();
        }
    }
}

/// Ends the process without a call into any library: one of them is hung, and may hold locks.
fn end_at_once() {
    let _ = kill_process(getpid(), Signal::KILL);
}

/// Lowers a limit of this process. One that the system holds lower already stays.
fn limit(resource: Resource, most: u64) {
    let now = rustix::process::getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    let most = now.current.map_or(most, |current| current.min(most));
    let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
}

/// Ends this process when the runner ends, however that happens.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        // It may have ended before.
        let parent = std::env::var(crate::job::TOKEN).ok();
        let parent = parent.as_deref().and_then(|token| token.split('-').next()?.parse().ok());
        if rustix::process::getppid() != parent.and_then(Pid::from_raw) {
            end_at_once();
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
