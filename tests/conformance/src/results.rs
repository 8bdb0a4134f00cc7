//! The results of a run: the values that every report prints.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::check::{Check, Target};
use crate::outcome::{Outcome, Verdict};
use crate::trial::Settings;

/// One run of the runner over libraries.
#[derive(Debug, Clone)]
pub struct Run {
    /// The version of the runner.
    pub version: &'static str,
    /// Its options, including the level and the seed.
    pub settings: Settings,
    /// The command that does it again, with the same random numbers.
    pub replay: String,
    /// When it began.
    pub started: SystemTime,
    /// Its duration.
    pub took: Duration,
    /// Its machine.
    pub machine: Machine,
    /// The libraries, in the order they were given.
    pub libraries: Vec<LibraryResult>,
    /// Faults of the runner itself, one line each; empty except for bugs. Their checks are among the skipped ones.
    pub bugs: Vec<String>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The system and its release, such as `Linux 6.1.0`.
    pub system: String,
    /// The architecture, such as `x86_64`.
    pub architecture: &'static str,
    /// How many threads run at a time.
    pub cpus: usize,
    /// The version of the C library, such as `glibc 2.36`, if it has one.
    pub c_library: Option<String>,
}

/// The results of one library.
#[derive(Debug, Clone)]
pub struct LibraryResult {
    /// Its path, as given.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// When its file was last changed.
    pub modified: Option<SystemTime>,
    /// The CRC-32 of the file: it identifies the library across reports.
    pub crc32: u32,
    /// Its parts; only [`Target::Library`] if it cannot be opened.
    pub targets: Vec<TargetFacts>,
    /// The outcome of each check of each target, in the order of checks, then of targets.
    pub results: Vec<CheckResult>,
}

/// One part of a library, and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// The part.
    pub target: Target,
    /// Pairs of a name and a value for people, such as `name`, `Zstandard`.
    pub facts: Vec<(String, String)>,
}

/// The outcome of one check of one target.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// What it was run on.
    pub target: Target,
    /// The verdict, findings and figures.
    pub outcome: Outcome,
    /// How long its process ran.
    pub took: Duration,
    /// What it did when it crashed or hung; the message says that too.
    pub step: Option<String>,
    /// The end of what its process wrote to stdout; empty mostly.
    pub stdout: String,
    /// The end of what its process wrote to stderr; empty mostly.
    pub stderr: String,
    /// The command that runs this check again with the same random numbers.
    pub replay: String,
}

/// Whether a library is fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// No rule is broken, as far as checks ran.
    Fit,
    /// A rule is broken.
    Unfit,
    /// All checks were skipped, so there is no verdict.
    Unchecked,
}

/// How many results there are of each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([usize; Verdict::ALL.len()]);

impl Run {
    /// The counts of all libraries together.
    pub fn counts(&self) -> Counts {
        Counts::of(self.libraries.iter().flat_map(|library| &library.results))
    }

    /// Whether the libraries are fit: unfit if any is, fit if any is and none is unfit.
    pub fn fitness(&self) -> Fitness {
        let all = || self.libraries.iter().map(LibraryResult::fitness);
        [Fitness::Unfit, Fitness::Fit]
            .into_iter()
            .find(|fitness| all().any(|of| of == *fitness))
            .unwrap_or(Fitness::Unchecked)
    }

    /// How many libraries are fit, unfit, and unchecked, in words, such as `3 fit, 1 unfit`.
    pub(crate) fn tally(&self) -> String {
        let number = |fitness| self.libraries.iter().filter(|library| library.fitness() == fitness).count();
        let mut text = format!("{} fit, {} unfit", number(Fitness::Fit), number(Fitness::Unfit));
        if let unchecked @ 1.. = number(Fitness::Unchecked) {
            text.push_str(&format!(", {unchecked} unchecked"));
        }
        text
    }

    /// Whether any library is unfit.
    pub fn is_unfit(&self) -> bool {
        self.libraries.iter().any(LibraryResult::is_unfit)
    }
}

impl LibraryResult {
    /// How many results there are of each verdict.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.results)
    }

    /// Whether a rule is broken.
    pub fn is_unfit(&self) -> bool {
        self.results.iter().any(|result| result.outcome.verdict.is_bad())
    }

    /// Whether it is fit.
    pub fn fitness(&self) -> Fitness {
        let counts = self.counts();
        if self.is_unfit() {
            Fitness::Unfit
        } else if counts.all() == counts.number(Verdict::Skipped) {
            Fitness::Unchecked
        } else {
            Fitness::Fit
        }
    }

    /// The verdict on the library, such as `fit at level 5`, `unfit: 2 failed, 1 crashed` or `unchecked: all 3 checks
    /// were skipped`.
    pub fn verdict(&self, level: u8) -> String {
        let counts = self.counts();
        if self.fitness() == Fitness::Unchecked {
            return match counts.all() {
                0 => "unchecked: no check is for it".to_owned(),
                1 => "unchecked: its only check was skipped".to_owned(),
                all => format!("unchecked: all {all} checks were skipped"),
            };
        }
        let found: Vec<_> = Verdict::ALL
            .into_iter()
            .filter(|verdict| verdict.is_bad() && counts.number(*verdict) > 0)
            .map(|verdict| format!("{} {verdict}", counts.number(verdict)))
            .collect();
        match (found.is_empty(), counts.number(Verdict::Warned)) {
            (false, _) => format!("unfit: {}", found.join(", ")),
            (true, 0) => format!("fit at level {level}"),
            (true, warned) => format!("fit at level {level}, {warned} warned"),
        }
    }
}

impl TargetFacts {
    /// The name of the fact that names the filter of a codec.
    pub(crate) const FILTER_ID: &'static str = "filter id";

    /// The filter id of the part, if it has one.
    pub fn filter_id(&self) -> Option<u32> {
        match self.target {
            Target::Hdf5(id) => Some(id),
            _ => self.facts.iter().find(|(name, _)| name == Self::FILTER_ID)?.1.parse().ok(),
        }
    }
}

impl Fitness {
    /// Its name in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Unfit => "unfit",
            Self::Unchecked => "unchecked",
        }
    }

    /// The verdict that looks like it.
    pub(crate) const fn looks_like(self) -> Verdict {
        match self {
            Self::Fit => Verdict::Passed,
            Self::Unfit => Verdict::Failed,
            Self::Unchecked => Verdict::Skipped,
        }
    }
}

impl Counts {
    /// Counts these results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CheckResult>) -> Self {
        let mut counts = Self::default();
        for result in results {
            counts.0[result.outcome.verdict as usize] += 1;
        }
        counts
    }

    /// How many have this verdict.
    pub fn number(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    /// How many there are.
    pub fn all(&self) -> usize {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_apart_by_verdict() {
        for (index, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, index);
        }
    }
}
