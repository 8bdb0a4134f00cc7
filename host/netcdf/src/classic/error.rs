//! Why a classic file cannot be opened or written.

use ncz_model::{NcType, NetcdfKind};

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

/// Why a dataset cannot be written as a classic file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassicWriteError {
    /// The dataset has groups.
    #[error("group {path:?}: files of the kind {} have no groups; write netCDF-4, or copy one group", kind.name())]
    Group {
        /// The path of the first group.
        path: String,
        /// The kind of file.
        kind: NetcdfKind,
    },
    /// The dataset has several unlimited dimensions.
    #[error(
        "dimensions {first:?} and {second:?} are unlimited: files of the kind {} have one unlimited dimension; write \
         netCDF-4, or make dimensions fixed",
        kind.name()
    )]
    Unlimited {
        /// One of them.
        first: String,
        /// Another one.
        second: String,
        /// The kind of file.
        kind: NetcdfKind,
    },
    /// A name that netCDF does not have, or that is in use.
    #[error("the {object} {name:?} of {path:?} cannot be in a netCDF file: {reason}; give it another name")]
    Name {
        /// What is named.
        object: &'static str,
        /// The path of the group or variable that it belongs to.
        path: String,
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A dimension has a length that the file cannot have.
    #[error("dimension {name:?} cannot be in a file of the kind {}: {reason}; write netCDF-4", kind.name())]
    Dimension {
        /// The name.
        name: String,
        /// The kind of file.
        kind: NetcdfKind,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable has a type, shape or size that the file cannot have.
    #[error("variable {path:?} cannot be in a file of the kind {}: {reason}; {}", kind.name(), remedy(*kind))]
    Variable {
        /// The path.
        path: String,
        /// The kind of file.
        kind: NetcdfKind,
        /// What is wrong with it.
        reason: String,
    },
    /// An attribute has a type that the file cannot have.
    #[error(
        "the attribute {name:?} of {path:?} cannot be in a file of the kind {}: its type is {nc_type}; {}",
        kind.name(),
        remedy(*kind)
    )]
    Attribute {
        /// The path of the group or variable.
        path: String,
        /// The name of the attribute.
        name: String,
        /// Its type.
        nc_type: NcType,
        /// The kind of file.
        kind: NetcdfKind,
    },
}

/// The kinds of file that hold more.
fn remedy(kind: NetcdfKind) -> &'static str {
    match kind {
        NetcdfKind::Classic => "write 64-bit offset for larger files, or cdf5 or netCDF-4 for more types",
        NetcdfKind::Offset64 => "write cdf5 or netCDF-4",
        _ => "write netCDF-4",
    }
}
