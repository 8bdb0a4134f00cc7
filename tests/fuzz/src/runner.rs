//! Runs inputs, changes those that show something new, and reports which broke a promise.

use std::alloc::System;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::time::{Duration, Instant};

use fastrand::Rng;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::corpus::Corpus;
use crate::watch::Watch;
use crate::{Case, Target};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Different failures after which a run ends.
const MOST_FAILURES: usize = 20;

/// Longest input; repeated changes could go on forever.
const LONGEST: usize = 1 << 18;

/// Inputs that showed something new and are changed further.
const MOST_NEW: usize = 2000;

/// How much to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of the random numbers: the same seed on the same fixtures and corpus gives the same inputs.
    pub seed: u64,
    /// The most inputs.
    pub cases: u64,
    /// The most time.
    pub time: Option<Duration>,
    /// Whether the input that runs is kept in the corpus until it has run, to find one that ends the process.
    pub note: bool,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Inputs that were run.
    pub cases: u64,
    /// Inputs whose answer no input before had, in the order of the run.
    pub new: Vec<Case>,
    /// Inputs that broke a promise, one for each way.
    pub failures: Vec<Failure>,
}

/// An input that broke a promise.
#[derive(Debug)]
pub struct Failure {
    /// The input.
    pub case: Case,
    /// What happened.
    pub message: String,
}

/// A target with a watch on it.
pub struct Runner {
    name: &'static str,
    target: Box<dyn Target>,
    watch: Watch,
}

impl Runner {
    /// Makes a target ready.
    #[must_use]
    pub fn new(name: &'static str, target: Box<dyn Target>) -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            panic::set_hook(Box::new(|info| PANIC.with(|last| *last.borrow_mut() = info.to_string())));
        });
        Self { name, target, watch: Watch::new(name) }
    }

    /// Runs one input and returns its answer.
    ///
    /// # Errors
    /// The promise that it broke.
    pub fn one(&mut self, case: &Case) -> Result<String, String> {
        self.watch.begin(case);
        let region = Region::new(ALLOCATOR);
        let result = panic::catch_unwind(AssertUnwindSafe(|| self.target.run(case)));
        let taken = region.change().bytes_allocated;
        self.watch.end();
        match result {
            Err(_) => Err(PANIC.with(RefCell::take)),
            Ok(_) if taken > self.target.most_memory() => Err(format!("{taken} bytes were allocated")),
            Ok(text) => Ok(outline(&text)),
        }
    }

    /// Runs changed inputs, beginning with the fixtures and the corpus.
    ///
    /// # Errors
    /// The corpus cannot be read or written.
    pub fn run(&mut self, plan: Plan) -> io::Result<Report> {
        let start = Instant::now();
        let corpus = Corpus::of(self.name);
        let mut rng = Rng::with_seed(plan.seed);
        let mut pool = self.target.seeds();
        assert!(!pool.is_empty(), "{} has nothing to begin with", self.name);
        pool.extend(corpus.cases()?.into_iter().map(|(_, case)| case));
        let (known, mut outlines, mut broken) = (pool.len(), BTreeSet::new(), BTreeSet::new());
        let mut report = Report::default();
        while report.cases < plan.cases && plan.time.is_none_or(|time| start.elapsed() < time) {
            // What is new is changed as often as all that was there before.
            let new = pool.len() > known && rng.bool();
            let from = if new { rng.usize(known..pool.len()) } else { rng.usize(..known) };
            let mut case = pool[from].clone();
            let other = &pool[rng.usize(..pool.len())];
            for _ in 0..1 << rng.u32(..4) {
                self.target.mutate(&mut case, other, &mut rng);
            }
            if case.bytes.len() > LONGEST {
                continue;
            }
            if plan.note {
                corpus.begin(&case)?;
            }
            report.cases += 1;
            match self.one(&case) {
                Ok(text) => {
                    if outlines.insert(text) && report.new.len() < MOST_NEW {
                        report.new.push(case.clone());
                        pool.push(case);
                    }
                }
                Err(message) => {
                    // The location of the panic and the first line of its message.
                    let first = message.lines().take(2).collect::<String>();
                    if broken.insert(outline(&first)) {
                        report.failures.push(Failure { case, message });
                        if report.failures.len() == MOST_FAILURES {
                            break;
                        }
                    }
                }
            }
        }
        if plan.note && report.cases > 0 {
            corpus.end()?;
        }
        Ok(report)
    }
}

thread_local! {
    /// The last panic of this thread with its location.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A text without what is in quotes and without numbers, so that two of a kind are alike.
fn outline(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let mut out = String::new();
    for character in text.chars().take(4000) {
        match character {
            '"' if !escaped => quoted = !quoted,
            _ if quoted => escaped = character == '\\' && !escaped,
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            other => out.push(other),
        }
        if out.len() > 500 {
            break;
        }
    }
    out
}
