//! The errors of copies in parts.

use std::io;
use std::path::PathBuf;

use ncz_model::DataError;
use ncz_registry::allow_list::AllowListError;
use ncz_store::StoreError;

use super::super::CopyError;
use crate::location::{Location, LocationError};

/// Why something could not be removed.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The number of differences and missing parts that a message lists.
const SHOWN: usize = 20;

/// Why a plan was not made, a part not copied, or a copy not finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// Copying failed.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A dataset cannot be opened.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// A copy in parts does not have this option.
    #[error("a copy in parts has no option {option}; copy in one process for it")]
    Option {
        /// The name.
        option: &'static str,
    },
    /// The target is one file, which cannot be written in parts.
    #[error(
        "{location} is {what}, which cannot be written in parts; copy to a directory or to S3 in parts, and that to {location}"
    )]
    OneFile {
        /// The target.
        location: Location,
        /// What it is.
        what: &'static str,
    },
    /// The target has no name of its own.
    #[error(
        "{location} has no name beside which a copy in parts could be made; name a directory, or a prefix in S3"
    )]
    NoName {
        /// The target.
        location: Location,
    },
    /// A secret would be written to the plan.
    #[error(
        "{location} contains a secret, which a plan must not hold; give it by the environment or by a profile (AWS_PROFILE)"
    )]
    Secret {
        /// The location, without the secret.
        location: String,
    },
    /// The plan is not one.
    #[error("this is not the plan of a copy; make a new one")]
    Json(#[source] serde_json::Error),
    /// The plan is of another version of the JSON form.
    #[error(
        "the plan has version {schema} of its form, this program reads {known}; use the program that made it"
    )]
    Schema {
        /// Its version.
        schema: u32,
        /// The version that is read.
        known: u32,
    },
    /// The plan is not what was written.
    #[error("the plan was changed after it was made; make a new one")]
    Edited,
    /// Another version of this library made the plan.
    #[error("ncz {planned} made the plan, this is ncz {here}; use the same version everywhere")]
    Version {
        /// The version that made it.
        planned: String,
        /// This version.
        here: &'static str,
    },
    /// Something is at the target.
    #[error("{location} exists already; move it away, or choose another target")]
    Exists {
        /// The target.
        location: Location,
    },
    /// Another copy in parts to the same target is not finished.
    #[error(
        "another copy in parts is being made in {staging}; finish it, or discard it; its plan is {staging}/plan.json"
    )]
    Busy {
        /// Where its parts are.
        staging: String,
    },
    /// A dataset with the metadata of the copy is at the target, and nothing is known of the parts.
    #[error(
        "{location} has the metadata of this copy, so it was probably finished before; its values were not compared"
    )]
    Finished {
        /// The target.
        location: Location,
    },
    /// The target is not reserved for this plan.
    #[error(
        "{staging} is not there: the copy was discarded, or the target was changed or moved after it was finished, or this \
         machine does not see the file system of the target"
    )]
    NotReserved {
        /// Where the parts should be.
        staging: String,
    },
    /// The folder of the parts is there, but not what says which plan it is of.
    #[error(
        "{staging} is there, but not all of what says which plan it is of: a program is beginning a copy there or removing \
         its parts, or was stopped when it did; if none is running, no copy can be made of it: remove it"
    )]
    Unclaimed {
        /// Where the parts are.
        staging: String,
    },
    /// The target is reserved for another plan.
    #[error(
        "{staging} belongs to another plan, or another program has written there; make a new plan with another target"
    )]
    OtherPlan {
        /// Where the parts of that plan are.
        staging: String,
    },
    /// The source is not what the plan was made of.
    #[error("{source_location} has changed since the plan was made: {what}; make a new plan")]
    SourceChanged {
        /// The source.
        source_location: Location,
        /// What differs.
        what: String,
    },
    /// This process has other codecs than the plan.
    #[error("the codecs differ from those of the plan: {}", listed(differences))]
    Codecs {
        /// What differs, as clauses.
        differences: Vec<String>,
    },
    /// The files of plugins cannot be read.
    #[error(transparent)]
    Plugins(#[from] AllowListError),
    /// The plan has no part of this number.
    #[error("there is no part {part}; the plan has {parts} parts, from 0 on")]
    NoSuchPart {
        /// The number.
        part: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// Parts are not complete.
    #[error("{} of {of} parts {} not complete: {}", parts.len(), if parts.len() == 1 { "is" } else { "are" }, ranges(parts))]
    Missing {
        /// Their numbers, in order.
        parts: Vec<usize>,
        /// How many parts there are.
        of: usize,
    },
    /// A part of the copy is not what the source has.
    #[error("part {part} of the {} cannot be verified", if *is_at_target { "finished copy" } else { "copy" })]
    Differs {
        /// The number of the part.
        part: usize,
        /// Whether the copy is finished, so that its parts cannot be made again.
        is_at_target: bool,
        /// What differs, or cannot be read.
        source: Box<CopyError>,
    },
    /// The copy would have too many boxes.
    #[error(
        "the copy consists of {boxes} boxes of whole chunks, a plan has at most {most}; ask for larger chunks or shards"
    )]
    TooManyBoxes {
        /// How many there would be.
        boxes: u64,
        /// The most.
        most: u64,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copy is complete, but what was known of its parts could not be removed.
    #[error("{location} is complete and in place, but {staging} could not be removed; remove it")]
    NotRemoved {
        /// The target.
        location: Location,
        /// What is left.
        staging: String,
        /// Why.
        source: Failure,
    },
    /// A copy that is given up could not be removed as a whole.
    #[error("{staging} could not be removed as a whole; discard the copy again, or remove it")]
    NotDiscarded {
        /// What is left.
        staging: String,
        /// Why.
        source: Failure,
    },
}

impl From<DataError> for PartsError {
    fn from(error: DataError) -> Self {
        Self::Copy(error.into())
    }
}

impl PartsError {
    /// The error of a store.
    pub(super) fn store(store: impl ToString) -> impl Fn(StoreError) -> Self {
        let store = store.to_string();
        move |source| DataError::Store { store: store.clone(), source }.into()
    }
}

fn listed(differences: &[String]) -> String {
    let mut text = differences.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if differences.len() > SHOWN {
        text.push_str(&format!("; and {} more", differences.len() - SHOWN));
    }
    text
}

/// Numbers in order as text: `0, 3-5`.
#[must_use]
pub fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_as_the_command_reads_them() {
        assert_eq!(ranges(&[0, 3, 4, 5, 9]), "0,3-5,9");
        assert_eq!(ranges(&[7, 8]), "7-8");
        assert_eq!(ranges(&[]), "");
    }
}
