//! Why a classic file cannot be opened.

use crate::source::ReadError;

/// Why a classic file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassicError {
    /// The bytes of the header cannot be read.
    #[error(transparent)]
    Read(Box<ReadError>),
    /// The file does not begin with `CDF` and a version.
    #[error("{key:?} is not a classic netCDF file: it does not begin with CDF and the version 1, 2 or 5")]
    NotClassic {
        /// The key of the file.
        key: String,
    },
    /// The header contradicts the format, or itself.
    #[error("the header of {key:?} is damaged at byte {at}: {reason}")]
    Header {
        /// The key of the file.
        key: String,
        /// The position in the file.
        at: u64,
        /// What is wrong.
        reason: String,
    },
    /// The header does not end.
    #[error(
        "the header of {key:?} has more than {most} bytes; the file is damaged, or has more attributes than this \
         program reads"
    )]
    TooLong {
        /// The key of the file.
        key: String,
        /// The limit.
        most: u64,
    },
    /// The variables do not fit 64-bit lengths, or each other.
    #[error("variable {variable:?} of {key:?}: {reason}")]
    Variable {
        /// The key of the file.
        key: String,
        /// The name of the variable.
        variable: String,
        /// What is wrong.
        reason: String,
    },
}

impl From<ReadError> for ClassicError {
    fn from(source: ReadError) -> Self {
        Self::Read(Box::new(source))
    }
}
