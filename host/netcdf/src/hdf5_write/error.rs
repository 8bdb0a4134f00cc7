//! Why a netCDF-4 file cannot be written.

use std::io;

/// Why a dataset cannot be written as a netCDF-4 file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Hdf5WriteError {
    /// netCDF-4 cannot have this name.
    #[error("{path:?}: a {kind} cannot have the name {name:?}: {reason}; rename it")]
    Name {
        /// What has the name.
        kind: &'static str,
        /// The path of the group or variable with that object.
        path: String,
        /// The name.
        name: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// HDF5 has no type for these elements.
    #[error("{path:?}: HDF5 has no type for elements of the type {dtype}; convert them first")]
    Type {
        /// The path of the variable.
        path: String,
        /// The type of the elements.
        dtype: String,
    },
    /// HDF5 cannot store a user-defined type.
    #[error("{path:?}: its type {of:?} {reason}")]
    UserType {
        /// The path of the variable, or of the type.
        path: String,
        /// The path of the type.
        of: String,
        /// Why not, as the rest of a sentence.
        reason: String,
    },
    /// The shape, chunks or storage of a variable are beyond what HDF5 can hold.
    #[error("{path:?} {reason}")]
    Layout {
        /// The path of the variable.
        path: String,
        /// What is beyond the limits, as the rest of a sentence.
        reason: String,
    },
    /// A variable has a codec that is not an HDF5 filter, or too many filters.
    #[error("the filters of {path:?}: {reason}")]
    Filters {
        /// The path of the variable.
        path: String,
        /// What is wrong with them.
        reason: String,
    },
    /// An attribute cannot be stored.
    #[error("the attribute {name:?} of {path:?}: {reason}")]
    Attribute {
        /// The path of the group or variable.
        path: String,
        /// The name of the attribute.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The location of stored data does not fit the variable.
    #[error("chunk {index:?} of {path:?}: {reason}")]
    Chunk {
        /// The path of the variable.
        path: String,
        /// The coordinates of the chunk in the grid of chunks.
        index: Vec<u64>,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no variable with this path.
    #[error("{path:?} is not a variable of the dataset")]
    NotFound {
        /// The path.
        path: String,
    },
    /// A string cannot be stored as text of variable length.
    #[error("string {number}: {reason}")]
    Text {
        /// The position of the string.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A structure is larger than HDF5 allows.
    #[error("{what}: {reason}")]
    Structure {
        /// The structure.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be written.
    #[error("cannot write {bytes} bytes at {offset} of the file")]
    Write {
        /// The number of bytes.
        bytes: usize,
        /// Where they begin.
        offset: u64,
        /// Why it failed.
        source: io::Error,
    },
}
