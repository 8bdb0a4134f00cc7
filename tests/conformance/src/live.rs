//! The progress display while checks run.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ncz_conform::Watcher;
use ncz_conform::outcome::Verdict;
use ncz_conform::report::text::visible;
use ncz_conform::results::CheckResult;

/// Lines on standard output for what is worth one, and on a terminal how far it is.
pub(crate) struct Live {
    talk: Talk,
    bar: bool,
    checks: AtomicUsize,
    shown: Mutex<Shown>,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Nothing, because a report is written to standard output.
    Silent,
    /// Findings.
    Quiet,
    /// What did not pass.
    Normal,
    /// All.
    Verbose,
}

#[derive(Default)]
struct Shown {
    done: usize,
    /// The library of the last line.
    library: Option<PathBuf>,
}

impl Live {
    /// Says that much.
    pub(crate) fn new(talk: Talk) -> Self {
        Self {
            talk,
            bar: talk != Talk::Quiet && std::io::stderr().is_terminal(),
            checks: AtomicUsize::new(0),
            shown: Mutex::default(),
        }
    }

    /// Removes the progress line from the terminal.
    pub(crate) fn clear(&self) {
        if self.bar {
            progress("");
        }
    }

    fn is_shown(&self, verdict: Verdict) -> bool {
        match self.talk {
            Talk::Silent => false,
            Talk::Quiet => verdict.is_bad(),
            Talk::Normal => !matches!(verdict, Verdict::Passed | Verdict::Skipped),
            Talk::Verbose => true,
        }
    }
}

impl Watcher for Live {
    fn begins(&self, checks: usize) {
        self.checks.store(checks, Ordering::Relaxed);
    }

    fn done(&self, library: &Path, result: &CheckResult) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.done += 1;
        if self.is_shown(result.outcome.verdict) {
            self.clear();
            let mut text = String::new();
            if shown.library.as_deref() != Some(library) {
                text = format!("{}\n", visible(&library.to_string_lossy()).replace('\n', " "));
                shown.library = Some(library.to_owned());
            }
            text.push_str(&lines(result, self.talk == Talk::Verbose));
            // A closed pipe: the reader has seen enough, and only the exit code is left.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
        }
        if self.bar {
            let all = self.checks.load(Ordering::Relaxed);
            let target = visible(&result.target.to_string());
            progress(&format!("{}/{all} {} {target}", shown.done, result.check.id));
        }
    }
}

/// Replaces the progress line by a text.
fn progress(text: &str) {
    // A terminal that is gone is not a reason to end.
    let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
}

/// A result, for people.
fn lines(result: &CheckResult, all: bool) -> String {
    let CheckResult { check, target, outcome, took, .. } = result;
    let target = visible(&target.to_string());
    let mut text = format!("  {:8} {:28} {target}  {:.2} s\n", outcome.verdict, check.id, took.as_secs_f64());
    let mut add = |line: &str| text.push_str(&format!("           {}\n", visible(line)));
    outcome.message.lines().for_each(&mut add);
    if all {
        for (name, value) in &outcome.figures {
            add(&format!("{name}: {value}"));
        }
        for (name, printed) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
            printed.lines().for_each(|line| add(&format!("{name}: {line}")));
        }
    }
    if outcome.verdict.is_bad() {
        add(&format!("again: {}", result.replay));
    }
    text
}
