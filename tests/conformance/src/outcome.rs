//! The outcome of a check.

use std::fmt;

use serde_json::{Map, Value};

/// The verdict on one check of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The rule is kept.
    Passed,
    /// The rule does not apply, or cannot be checked here, with the reason in the message.
    Skipped,
    /// No rule is broken, but some host or some data will have trouble.
    Warned,
    /// The rule is broken.
    Failed,
    /// The plugin took so long that its process was killed.
    Hung,
    /// The plugin ended its process: by a signal, or by leaving.
    Crashed,
}

/// The outcome of one check of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The findings, one per line; empty if there are none.
    pub message: String,
    /// The measured or counted values, such as `encode MB/s`.
    pub figures: Map<String, Value>,
}

/// Why a case function ends before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The rule is broken, with the finding.
    Failed(String),
    /// The rule does not apply; why.
    Skipped(String),
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; 6] =
        [Self::Passed, Self::Skipped, Self::Warned, Self::Failed, Self::Hung, Self::Crashed];

    /// Its name in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::Warned => "warned",
            Self::Failed => "failed",
            Self::Hung => "hung",
            Self::Crashed => "crashed",
        }
    }

    /// The verdict of that name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// Whether a library with this verdict is unfit.
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Hung | Self::Crashed)
    }
}

impl Outcome {
    /// An outcome without figures.
    pub fn new(verdict: Verdict, message: impl Into<String>) -> Self {
        Self { verdict, message: message.into(), figures: Map::new() }
    }
}

impl Ending {
    /// The rule is broken.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The rule does not apply.
    pub fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped(why.into())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
