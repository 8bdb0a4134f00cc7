//! The errors of a dataset's metadata, and the netCDF error number of each.

use std::error::Error;

use crate::dtype::DtypeError;
use crate::json::JsonError;
use crate::remedy::Remedy;

/// An error of the layer below, kept as the source.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// Why a dataset, a variable or an attribute could not be read, made or written.
///
/// Paths are those of netCDF (`/group/variable`), keys those of the store (`group/variable/.zarray`).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// There is no Zarr metadata where a dataset was expected.
    #[error(
        "no Zarr dataset here: none of zarr.json, .zgroup, .zarray, .zattrs, .nczarr and .zmetadata exists; check the \
         path"
    )]
    NotADataset,

    /// The store holds a dataset of Zarr version 2 and one of version 3 at the same location.
    #[error(
        "this is both a dataset of Zarr version 2 ({v2:?}) and one of version 3 (\"zarr.json\"); choose the version \
         to read, or remove the metadata of the other"
    )]
    Ambiguous {
        /// The document that makes it one of version 2.
        v2: &'static str,
    },

    /// The dataset has another version of Zarr than requested.
    #[error(
        "version {expected} of Zarr was requested, but {found:?} makes this a dataset of the other version; do not \
         request a version"
    )]
    OtherVersion {
        /// The requested version.
        expected: u8,
        /// The document that was found.
        found: &'static str,
    },

    /// A document has a Zarr format that does not fit its name.
    #[error(
        "{key:?} has Zarr format {version}; supported are format 2 in .zgroup and .zarray and format 3 in zarr.json"
    )]
    FormatVersion {
        /// The key of the document.
        key: String,
        /// The version as the document writes it.
        version: String,
    },

    /// A metadata document is not JSON, or is beyond the limits.
    #[error("metadata document {key:?} cannot be parsed")]
    Document {
        /// The key of the document.
        key: String,
        /// What is wrong and where.
        #[source]
        source: JsonError,
    },

    /// A metadata document is JSON, but its content is invalid.
    #[error("metadata document {key:?}: {reason}")]
    Metadata {
        /// The key of the document.
        key: String,
        /// What is wrong, and the remedy if there is one.
        reason: String,
    },

    /// The store failed while metadata were read.
    #[error("cannot read {key:?}")]
    Read {
        /// The key, or the folder that was listed.
        key: String,
        /// The store's error.
        #[source]
        source: SourceError,
    },

    /// The store denies access to a document that may exist.
    #[error("no permission to read {key:?}; cannot tell whether it exists")]
    Denied {
        /// The key.
        key: String,
        /// The error of the store.
        #[source]
        source: SourceError,
    },

    /// The metadata do not list the content of a group, and the store cannot list it.
    #[error(
        "cannot tell what is in the group {group:?}: the dataset has no consolidated metadata, no metadata of NCZarr \
         name it, and the store does not list its objects. Consolidate the metadata (as zarr.consolidate_metadata \
         does), open the dataset through a service that lists (its S3 address), or give the address of one array in it"
    )]
    NotListed {
        /// The path of the group.
        group: String,
        /// The error of the store.
        #[source]
        source: SourceError,
    },

    /// One variable cannot be read; the rest of the dataset can.
    #[error("variable {path:?} cannot be read")]
    Variable {
        /// The variable.
        path: String,
        /// Why.
        #[source]
        source: VariableError,
    },

    /// The variable's element type does not exist in netCDF.
    #[error(
        "variable {path:?} has the element type {dtype:?}, which netCDF does not have; read it as raw elements or \
         with zarr-python"
    )]
    NotNetcdfType {
        /// The variable.
        path: String,
        /// The Zarr dtype.
        dtype: String,
    },

    /// There is no object of that name.
    #[error("no {kind} {path:?} in this dataset")]
    NotFound {
        /// `variable`, `group`, `dimension` or `attribute`.
        kind: &'static str,
        /// The requested path or name.
        path: String,
    },

    /// The name cannot be used for a new object.
    #[error("{kind} name {name:?} is not allowed: {reason}")]
    Name {
        /// `variable`, `group`, `dimension` or `attribute`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Which rule it breaks.
        reason: &'static str,
    },

    /// An object of that name exists already.
    #[error("{kind} {path:?} exists already; choose another name")]
    Exists {
        /// `variable`, `group`, `dimension` or `attribute`.
        kind: &'static str,
        /// The path.
        path: String,
    },

    /// A definition of a new object contradicts itself.
    #[error("{kind} {path:?}: {reason}")]
    Definition {
        /// `variable`, `dimension`, `attribute` or `type`.
        kind: &'static str,
        /// The path.
        path: String,
        /// What is wrong, and the remedy.
        reason: String,
    },

    /// Metadata of this generation can only be read.
    #[error(
        "this dataset has the metadata of netcdf-c {written_by}, which can be read but not changed; copy it to a new \
         dataset"
    )]
    OldGeneration {
        /// The versions that wrote it.
        written_by: &'static str,
    },

    /// The hierarchy is that of a netCDF file.
    #[error(
        "the hierarchy has the format of a {kind} file, expected one of Zarr; set the format of the new dataset"
    )]
    NotZarr {
        /// The kind of file.
        kind: &'static str,
    },

    /// Text output failed.
    #[error("cannot write the text")]
    Output(#[from] std::io::Error),
}

impl MetadataError {
    /// The remedy, if known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        matches!(self, Self::NotListed { .. }).then_some(Remedy::Consolidate)
    }
}

/// Why one variable cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VariableError {
    /// The `.zarray` document is missing.
    #[error(
        "its group lists it, but {key:?} does not exist; restore the object or take the name out of the group"
    )]
    Missing {
        /// The key of the document.
        key: String,
    },
    /// A document of the variable is not JSON.
    #[error("{key:?} cannot be parsed")]
    Document {
        /// The key of the document.
        key: String,
        /// What is wrong and where.
        #[source]
        source: JsonError,
    },
    /// A key of `.zarray` is missing or has an invalid value.
    #[error("{key:?} in its .zarray: {reason}")]
    Key {
        /// The JSON key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A key of `zarr.json` is missing or has a value that is not supported.
    #[error("{key:?} in its zarr.json: {reason}")]
    Node {
        /// The JSON key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// The element type is malformed or not known.
    #[error("its element type cannot be read")]
    Dtype(#[source] DtypeError),
    /// The fill value does not fit the type.
    #[error("its \"fill_value\" {text} does not fit the type {dtype}")]
    Fill {
        /// The fill value as JSON.
        text: String,
        /// The type.
        dtype: String,
    },
    /// The name that its group lists cannot be part of a key.
    #[error("its name cannot be part of a key: {reason}")]
    Name {
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A dimension that the variable names does not exist.
    #[error("its dimension {name:?} is not defined")]
    Dimension {
        /// The reference as written.
        name: String,
    },
    /// Its description in a netCDF or HDF5 file is damaged, or not supported.
    #[error("{reason}")]
    InFile {
        /// What is wrong, and where.
        reason: String,
    },
    /// The number of dimension names differs from the rank of the array.
    #[error("{key:?} names {names} dimensions, but the array has {rank}")]
    Rank {
        /// The key that holds the names.
        key: &'static str,
        /// The number of names.
        names: usize,
        /// The rank of the array.
        rank: usize,
    },
}

impl MetadataError {
    /// Returns the nearest netCDF error number (`netcdf.h`).
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::NotADataset => -143,
            Self::Ambiguous { .. }
            | Self::OtherVersion { .. }
            | Self::FormatVersion { .. }
            | Self::Document { .. }
            | Self::Metadata { .. } => -144,
            Self::Read { .. } | Self::Output(_) | Self::NotListed { .. } => -68,
            Self::Denied { .. } => -78,
            Self::Variable { .. } => -137,
            Self::NotNetcdfType { .. } => -45,
            Self::NotFound { kind, .. } => match *kind {
                "variable" => -49,
                "group" => -125,
                "dimension" => -46,
                "attribute" => -43,
                _ => -90,
            },
            Self::Name { .. } => -59,
            Self::Exists { .. } => -42,
            Self::Definition { .. } => -36,
            Self::OldGeneration { .. } => -37,
            Self::NotZarr { .. } => -36,
        }
    }
}
