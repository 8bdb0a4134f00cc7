use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Output;

/// The errors of the test tooling.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot use {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program ended with another status than 0.
    #[error("{program} ended with {}\n{}", output.status, output.text())]
    Failed {
        /// The program and its arguments.
        program: String,
        /// Its status and all that it printed.
        output: Box<Output>,
    },
    /// A program was killed because it ran past its limit.
    #[error("{program} was killed after {limit:?}\n{printed}")]
    TimedOut {
        /// The program and its arguments.
        program: String,
        /// The limit that it ran past.
        limit: Duration,
        /// What it had printed.
        printed: String,
    },
    /// Another process held a lock file for too long.
    #[error(
        "{path} was held by another process for more than {limit:?}; if that process is gone, remove the file"
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited.
        limit: Duration,
    },
    /// A zip file cannot be read.
    #[error("cannot read {path} as a zip file")]
    Zip {
        /// The zip file.
        path: PathBuf,
        /// What the zip reader said.
        source: zip::result::ZipError,
    },
    /// A fixture does not hold what its README says.
    #[error("{path}: {what}")]
    Fixture {
        /// The fixture, with the entry inside it if it is a zip file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Cargo built, but not the requested file.
    #[error("cargo did not report {what}")]
    NotBuilt {
        /// The artifact that was expected.
        what: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn zip(path: &Path) -> impl FnOnce(zip::result::ZipError) -> Self {
        move |source| Self::Zip { path: path.to_owned(), source }
    }

    pub(crate) fn fixture(path: &Path, what: impl Into<String>) -> Self {
        Self::Fixture { path: path.to_owned(), what: what.into() }
    }
}
