//! The errors of HDF5 files.

use super::cursor::Malformed;
use crate::source::ReadError;

/// Why a part of an HDF5 file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Hdf5Error {
    /// The bytes cannot be read.
    #[error(transparent)]
    Read(Box<ReadError>),
    /// There is no signature of HDF5 at 0, 512, 1024, 2048 and so on.
    #[error("{key:?} is not an HDF5 file: it has no superblock")]
    NoSuperblock {
        /// The key of the file.
        key: String,
    },
    /// The file is shorter than its superblock says.
    #[error("{key:?} has {len} bytes where its superblock says {want}; it is cut short: copy it again")]
    CutShort {
        /// The key of the file.
        key: String,
        /// The length of the file.
        len: u64,
        /// The length in the superblock.
        want: u64,
    },
    /// A structure is damaged, or of a kind that is not known.
    #[error("{what} at {offset} of {key:?}: {reason}")]
    Structure {
        /// The key of the file.
        key: String,
        /// The structure.
        what: &'static str,
        /// Where it begins in the file.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl Hdf5Error {
    /// The error and its sources in one line.
    pub(crate) fn line(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        text
    }

    /// Whether another attempt may succeed, so that no conclusion about the file is possible.
    pub(crate) fn is_of_store(&self) -> bool {
        let Self::Read(error) = self else { return false };
        matches!(**error, ReadError::Store { .. } | ReadError::Changed { .. } | ReadError::Missing { .. })
    }
}

impl From<ReadError> for Hdf5Error {
    fn from(error: ReadError) -> Self {
        Self::Read(Box::new(error))
    }
}

impl Malformed {
    pub(super) fn at(self, key: &str, what: &'static str, offset: u64) -> Hdf5Error {
        Hdf5Error::Structure { key: key.to_owned(), what, offset, reason: self.0.into_owned() }
    }
}
