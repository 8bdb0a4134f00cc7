//! A run over libraries, from the settings to the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::check::{Check, Target};
use crate::error::Error;
use crate::job::{Job, Task};
use crate::libraries::{self, LibraryFile};
use crate::plan::{self, LOAD, Selection};
use crate::process::Workers;
use crate::replay;
use crate::results::{CheckResult, LibraryResult, Machine, Run};
use crate::trial::Settings;
use crate::verdict::{self, Inspected};
use crate::{strays, worker};

/// A run over libraries: what to run, and how.
///
/// ```no_run
/// # fn main() -> Result<(), ncz_conform::error::Error> {
/// ncz_conform::worker::run_if_asked();
/// let run = ncz_conform::Conformance::of("target/debug/libmy_plugin.so").level(3).include("damaged").run()?;
/// assert!(!run.is_unfit());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Conformance {
    libraries: Vec<PathBuf>,
    settings: Settings,
    selection: Selection,
    jobs: Option<usize>,
    timeout: Option<Duration>,
    program: Option<PathBuf>,
    stop: Arc<AtomicBool>,
}

/// Receives the progress of a run. Calls come from several threads.
pub trait Watcher: Sync {
    /// The libraries are looked at, and this many checks will run.
    fn begins(&self, checks: usize) {
        let _ = checks;
    }

    /// A check of a library is done. Those of one library come in the order of reports, one library after the other.
    fn done(&self, library: &Path, result: &CheckResult) {
        let _ = (library, result);
    }
}

/// No watcher.
impl Watcher for () {}

impl Conformance {
    /// A run over a library, or over all plugins in a folder, at level 5.
    pub fn of(library: impl Into<PathBuf>) -> Self {
        Self::of_all([library])
    }

    /// A run over several libraries and folders.
    pub fn of_all(libraries: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            libraries: libraries.into_iter().map(Into::into).collect(),
            settings: Settings::default(),
            selection: Selection::default(),
            jobs: None,
            timeout: None,
            program: None,
            stop: Arc::default(),
        }
    }

    /// How thorough, 1 to 10.
    #[must_use]
    pub fn level(mut self, level: u8) -> Self {
        self.settings.level = level.clamp(1, 10);
        self
    }

    /// From which all random choices follow; 0 unless given.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// All settings at once, level and seed included.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Runs these checks: an id, a group, the beginning of an id, or a pattern with `*` and `?`. Repeated: these too.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<String>) -> Self {
        self.selection.include.push(pattern.into());
        self
    }

    /// Does not run these checks.
    #[must_use]
    pub fn exclude(mut self, pattern: impl Into<String>) -> Self {
        self.selection.exclude.push(pattern.into());
        self
    }

    /// Runs checks on this target. Repeated: on this one too.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.selection.targets.push(target);
        self
    }

    /// How many checks run at a time; as many as there are processors unless given.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = Some(jobs.max(1));
        self
    }

    /// How long one check may run by the clock on the wall; a minute, and more at levels above 5, unless given.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Runs checks in this program, such as an installed `ncz-conform`, and not in the running one.
    #[must_use]
    pub fn worker(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// The flag that ends the run when it becomes true: all workers are killed, and the result is
    /// [`Error::Interrupted`].
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Runs the checks.
    ///
    /// # Errors
    /// No library is there, no check is chosen, or the system gives no processes and files. What is wrong with a
    /// library is a result.
    pub fn run(&self) -> Result<Run, Error> {
        self.run_watched(&())
    }

    /// Runs the checks, and reports progress.
    ///
    /// # Errors
    /// As [`Conformance::run`].
    pub fn run_watched(&self, watcher: &dyn Watcher) -> Result<Run, Error> {
        let (started, start) = (SystemTime::now(), Instant::now());
        let (folder, program) = self.begin()?;
        let workers = self.workers(&folder, program);
        let (libraries, plans) = self.look(&workers)?;
        watcher.begins(plans.len());
        let results = self.run_all(&workers, &plans, watcher)?;
        Ok(self.report(libraries, &plans, results, started, start))
    }

    /// What the libraries offer and which checks would run on what, for those who run them one by one.
    pub(crate) fn prepare(&self) -> Result<Prepared, Error> {
        let (folder, program) = self.begin()?;
        let (_, plans) = self.look(&self.workers(&folder, program.clone()))?;
        Ok(Prepared { conformance: self.clone(), folder, program, plans })
    }

    /// The same run over other paths.
    pub(crate) fn map_libraries(
        mut self,
        place: impl Fn(PathBuf) -> Result<PathBuf, Error>,
    ) -> Result<Self, Error> {
        self.libraries = self.libraries.into_iter().map(place).collect::<Result<_, _>>()?;
        Ok(self)
    }

    fn begin(&self) -> Result<(tempfile::TempDir, PathBuf), Error> {
        if self.program.is_none() && !worker::is_ready() {
            return Err(Error::NoWorker);
        }
        let program = match &self.program {
            Some(program) => program.clone(),
            None => std::env::current_exe()
                .map_err(|source| Error::Start { program: "the running program".into(), source })?,
        };
        let temporary = |source| Error::Temporary { path: std::env::temp_dir(), source };
        let folder = tempfile::Builder::new().prefix("ncz-conform-").tempdir().map_err(temporary)?;
        strays::adopt();
        Ok((folder, program))
    }

    fn workers(&self, folder: &tempfile::TempDir, program: PathBuf) -> Workers<'_> {
        let default = match self.settings.level {
            level @ 6.. => Duration::from_secs(60 * u64::from(level - 4)),
            _ => Duration::from_secs(60),
        };
        Workers {
            program,
            folder: folder.path().to_owned(),
            timeout: self.timeout.unwrap_or(default),
            stop: &self.stop,
        }
    }

    fn threads(&self) -> usize {
        self.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
    }

    /// Queries the libraries' codecs, and makes the plans.
    fn look(&self, workers: &Workers<'_>) -> Result<Looked, Error> {
        let checks = self.selection.checks(self.settings.level)?;
        let files = libraries::all(&self.libraries)?;
        let inspected = in_parallel(self.threads(), &files, |file| self.inspect(workers, file))?;
        let libraries: Vec<_> = files.into_iter().zip(inspected).collect();
        self.check_ids(&libraries)?;
        let plans: Vec<_> =
            libraries.iter().flat_map(|(file, found)| self.plan(&checks, file, found)).collect();
        // A library is not fit if nothing was checked.
        if plans.is_empty() {
            let mut offered = Vec::new();
            for facts in libraries.iter().flat_map(|(_, found)| found.targets()) {
                let target = facts.target.to_string();
                if !offered.contains(&target) {
                    offered.push(target);
                }
            }
            return Err(Error::NothingToRun { offered });
        }
        Ok((libraries, plans))
    }

    /// Refuses settings for filters that no library has, which would change nothing.
    fn check_ids(&self, libraries: &[(LibraryFile, Inspected)]) -> Result<(), Error> {
        // The codecs of a library that does not open are unknown.
        let Some(all) = libraries.iter().map(|(_, found)| found.filter_ids()).collect::<Option<Vec<_>>>()
        else {
            return Ok(());
        };
        let mut offered = all.concat();
        offered.sort_unstable();
        offered.dedup();
        let params = self.settings.params.iter().map(|(id, _)| ("--params", *id));
        let mut asked = params.chain(self.settings.lossy.iter().map(|id| ("--lossy", *id)));
        match asked.find(|(_, id)| !offered.contains(id)) {
            Some((option, id)) => Err(Error::NoSuchFilter { option, id, offered }),
            None => Ok(()),
        }
    }

    fn inspect(&self, workers: &Workers<'_>, file: &LibraryFile) -> Result<Inspected, Error> {
        let job = self.job(file.absolute.clone(), Task::Inspect);
        Ok(verdict::of_inspection(workers.run(job)?, workers.timeout))
    }

    fn job(&self, library: PathBuf, task: Task) -> Job {
        Job { folder: PathBuf::new(), library, task, settings: self.settings.clone() }
    }

    /// The checks of one library, in the order of reports.
    fn plan(&self, checks: &[&'static Check], file: &LibraryFile, found: &Inspected) -> Vec<Planned> {
        let planned = |check, target, skip| Planned {
            check,
            target,
            skip,
            path: file.path.clone(),
            absolute: file.absolute.clone(),
            ids: found.filter_ids(),
            broken: None,
            bug: None,
        };
        match found {
            Inspected::Opened(targets) => {
                let targets: Vec<_> = targets.iter().map(|facts| facts.target.clone()).collect();
                let mut plans = Vec::new();
                for check in checks {
                    let targets =
                        plan::targets_of(check, &targets).filter(|target| self.selection.has(target));
                    plans.extend(targets.map(|target| planned(check, target.clone(), None)));
                }
                plans
            }
            Inspected::Broken(outcome, step) => {
                // Without the verdict on opening, nothing would say that the library is unfit.
                let load =
                    crate::cases::by_id(LOAD).filter(|load| !checks.iter().any(|check| check.id == load.id));
                let why = format!("the library does not open: {}", outcome.message);
                let all = load.into_iter().chain(checks.iter().copied());
                all.map(|check| {
                    let skip = (!plan::needs_no_opening(check)).then(|| why.clone());
                    let mut plan = planned(check, Target::Library, skip);
                    if check.id == LOAD {
                        plan.broken = Some((outcome.clone(), step.clone()));
                    }
                    plan
                })
                .collect()
            }
            Inspected::Bug(what) => {
                let load = crate::cases::by_id(LOAD).into_iter();
                load.map(|load| Planned {
                    bug: Some(what.clone()),
                    ..planned(load, Target::Library, Some(verdict::bug_text(what)))
                })
                .collect()
            }
        }
    }

    /// Runs all plans; those that measure run by themselves, last.
    fn run_all(
        &self,
        workers: &Workers<'_>,
        plans: &[Planned],
        watcher: &dyn Watcher,
    ) -> Result<Vec<(CheckResult, Option<String>)>, Error> {
        let slots: Vec<OnceLock<_>> = plans.iter().map(|_| OnceLock::new()).collect();
        let reported = Mutex::new(0);
        let run = |index: &usize| {
            let done = self.run_one(workers, &plans[*index])?;
            // Set once: every index comes once.
            let _ = slots[*index].set(done);
            let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some((result, _)) = slots.get(*reported).and_then(OnceLock::get) {
                watcher.done(&plans[*reported].path, result);
                *reported += 1;
            }
            Ok(())
        };
        let (measuring, others): (Vec<_>, Vec<_>) =
            (0..plans.len()).partition(|index| plans[*index].check.group() == "speed");
        in_parallel(self.threads(), &others, run)?;
        in_parallel(1, &measuring, run)?;
        Ok(slots.into_iter().filter_map(OnceLock::into_inner).collect())
    }

    /// Runs one plan; an error of the runner is returned with the result.
    fn run_one(&self, workers: &Workers<'_>, plan: &Planned) -> Result<(CheckResult, Option<String>), Error> {
        let mut settings = self.settings.clone();
        if let Some(ids) = &plan.ids {
            // The check is run again without the other libraries, and an option for a filter of those is refused then.
            settings.params.retain(|(id, _)| ids.contains(id));
            settings.lossy.retain(|id| ids.contains(id));
        }
        let replay = replay::of_check(&plan.path, &settings, plan.check.id, &plan.target);
        if let Some(why) = &plan.skip {
            let bug =
                plan.bug.as_ref().map(|what| verdict::bug_line(plan.check, &plan.target, what, &replay));
            return Ok((verdict::skipped(plan.check, plan.target.clone(), why, replay), bug));
        }
        let task = Task::Check(plan.check.id.to_owned(), plan.target.clone());
        let ended = workers.run(self.job(plan.absolute.clone(), task))?;
        let (mut result, bug) =
            verdict::of_check(plan.check, plan.target.clone(), ended, workers.timeout, replay);
        if let Some((outcome, step)) = &plan.broken
            && !result.outcome.verdict.is_bad()
        {
            result.outcome = outcome.clone();
            result.step = step.clone();
        }
        Ok((result, bug))
    }

    fn report(
        &self,
        libraries: Vec<(LibraryFile, Inspected)>,
        plans: &[Planned],
        results: Vec<(CheckResult, Option<String>)>,
        started: SystemTime,
        start: Instant,
    ) -> Run {
        let mut bugs = Vec::new();
        let mut of_libraries: Vec<Vec<CheckResult>> = libraries.iter().map(|_| Vec::new()).collect();
        for (plan, (result, bug)) in plans.iter().zip(results) {
            bugs.extend(bug);
            let index = libraries.iter().position(|(file, _)| file.absolute == plan.absolute);
            if let Some(of_library) = index.and_then(|index| of_libraries.get_mut(index)) {
                of_library.push(result);
            }
        }
        let libraries =
            libraries.into_iter().zip(of_libraries).map(|((file, found), results)| LibraryResult {
                path: file.path,
                size: file.size,
                modified: file.modified,
                crc32: file.crc32,
                targets: found.targets(),
                results,
            });
        Run {
            version: env!("CARGO_PKG_VERSION"),
            replay: replay::of_run(&self.libraries, &self.settings, &self.selection),
            settings: self.settings.clone(),
            started,
            machine: Machine::this(),
            libraries: libraries.collect(),
            bugs,
            took: start.elapsed(),
        }
    }
}

/// The libraries with what came of looking at them, and what runs on them.
type Looked = (Vec<(LibraryFile, Inspected)>, Vec<Planned>);

/// One check of one target of one library.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) check: &'static Check,
    pub(crate) target: Target,
    path: PathBuf,
    absolute: PathBuf,
    /// The filter ids of the library, if they are known.
    ids: Option<Vec<u32>>,
    /// Why it is not run.
    skip: Option<String>,
    /// The result of inspecting the library, if the check reports that.
    broken: Option<(crate::outcome::Outcome, Option<String>)>,
    /// A fault of the runner that was met when the library was looked at.
    bug: Option<String>,
}

impl Planned {
    /// The path of the library, as given.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks that are ready to run one by one.
pub(crate) struct Prepared {
    conformance: Conformance,
    folder: tempfile::TempDir,
    program: PathBuf,
    plans: Vec<Planned>,
}

impl Prepared {
    /// The checks to run.
    pub(crate) fn plans(&self) -> &[Planned] {
        &self.plans
    }

    /// Runs one.
    pub(crate) fn run(&self, plan: &Planned) -> Result<(CheckResult, Option<String>), Error> {
        self.conformance.run_one(&self.conformance.workers(&self.folder, self.program.clone()), plan)
    }
}

/// Does something with every item on some threads; the results in the order of the items, or the first error.
fn in_parallel<T: Sync, R: Send + Sync>(
    threads: usize,
    items: &[T],
    action: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let slots: Vec<OnceLock<Result<R, Error>>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(item), Some(slot)) = (items.get(index), slots.get(index)) else { break };
                    let result = action(item);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    let _ = slot.set(result);
                }
            });
        }
    });
    slots.into_iter().filter_map(OnceLock::into_inner).collect()
}
