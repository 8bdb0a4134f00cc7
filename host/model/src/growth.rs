//! Growth of variables that is in progress in another program, or was interrupted.

use std::fmt;

use crate::remedy::Remedy;

/// An append that is in progress or was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appending {
    /// The source of the records.
    pub source: String,
    /// The selected part of the source, as text.
    pub part: String,
    /// The path of the dimension.
    pub dimension: String,
    /// The length before the append.
    pub old: u64,
    /// The length after the append.
    pub new: u64,
}

/// A variable that gets longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Its path.
    pub variable: String,
    /// Its shape before.
    pub old: Vec<u64>,
    /// Its shape afterwards.
    pub new: Vec<u64>,
}

/// Growth that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The append, if the growth is one.
    pub append: Option<Appending>,
    /// The variables that grow; empty before their new lengths are written.
    pub lengths: Vec<Lengths>,
    /// The state that the growth has reached.
    pub reached: Reached,
    /// The writing process, for messages.
    pub writer: String,
    /// Whether that process is running; `None` if this is not known.
    pub running: Option<bool>,
}

/// The state of unfinished growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Data are being written, and are not visible yet: all lengths are the old ones.
    Data,
    /// The new lengths are being written: some or all documents have the old lengths.
    Lengths,
    /// All documents are written.
    All,
    /// Some documents have the new lengths, and another program has changed this one: the growth can be neither
    /// finished nor undone.
    Changed(String),
}

impl Interrupted {
    /// The remedy; none while its writer runs.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        (self.running != Some(true)).then_some(Remedy::Repair)
    }

    /// Describes what happened, and the remedy.
    #[must_use]
    pub fn with_remedy(&self) -> String {
        let remedy = match (&self.reached, self.running) {
            (_, Some(true)) => return self.to_string(),
            (Reached::Data, None) => "if it does not, a repair clears it away",
            (Reached::Data, _) => "the next program that writes, or a repair, clears it away",
            (Reached::Changed(_), _) => {
                "a repair leaves each document as it is and removes the journal: look at the lengths of the variables \
                 first"
            }
            (Reached::Lengths | Reached::All, _) if self.append.is_some() => {
                "a repair finishes it, and so does the same append, which appends nothing twice"
            }
            (Reached::Lengths | Reached::All, _) => "the next program that writes, or a repair, finishes it",
        };
        format!("{self}; {remedy}")
    }
}

impl fmt::Display for Appending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, dimension, old, new, .. } = self;
        write!(f, "an append of {source} along {dimension:?}, from {old} to {new},")
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.append, self.lengths.as_slice()) {
            (Some(append), _) => append.fmt(f)?,
            (None, [first, more @ ..]) => {
                write!(f, "growth of {:?} from {:?} to {:?}", first.variable, first.old, first.new)?;
                if !more.is_empty() {
                    write!(f, ", and of {} more", more.len())?;
                }
            }
            (None, []) => f.write_str("growth")?,
        }
        let writer = &self.writer;
        if self.running == Some(true) {
            return write!(f, " is being made by {writer}");
        }
        match &self.reached {
            Reached::Data if self.running.is_none() => {
                write!(f, " was begun by {writer}, and it is not known whether that still runs; nothing of it is \
                           visible")
            }
            Reached::Data => f.write_str(" was interrupted; nothing of it is visible"),
            Reached::Lengths => f.write_str(
                " was interrupted while the new lengths were written, so readers can see old and new ones side by side",
            ),
            Reached::All => f.write_str(" was interrupted when all was written"),
            Reached::Changed(key) => {
                write!(f, " was interrupted while the new lengths were written, and another program has changed \
                           {key:?} since")
            }
        }
    }
}
