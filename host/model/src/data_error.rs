//! The errors of reading and writing the data of a variable.

mod chunk;
mod filter;

use ncz_registry::chain::ChainError;
use ncz_registry::resolve::ResolveError;
use ncz_registry::spec::SpecError;
use ncz_store::StoreError;

pub use self::chunk::{ChunkError, LayoutError, ShardError};
pub use self::filter::FilterError;
use crate::error::{MetadataError, SourceError};
use crate::grid::SlabError;
use crate::growth::Interrupted;
use crate::hierarchy::Variable;
use crate::remedy::Remedy;

/// Why the data of a variable could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The metadata cannot be read, or do not allow the operation.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The hyperslab does not fit the variable.
    #[error("variable {variable:?}")]
    Slab {
        /// The path of the variable.
        variable: String,
        /// Why it does not fit.
        source: SlabError,
    },
    /// Elements of another type were asked for, or given.
    #[error(
        "variable {variable:?} has elements of type {}, got {requested}; {}",
        rust.map_or_else(|| dtype.clone(), |rust| format!("{rust} ({dtype})")),
        rust.map_or_else(
            || "use read_bytes and write_bytes for this type".to_owned(),
            |rust| format!("use {rust}"),
        )
    )]
    ElementType {
        /// The path of the variable.
        variable: String,
        /// The dtype of the variable.
        dtype: String,
        /// The Rust type of its elements, if there is one.
        rust: Option<&'static str>,
        /// The Rust type that was asked for, or given.
        requested: &'static str,
    },
    /// One chunk could not be read or written.
    #[error("variable {variable:?}, chunk {key:?} in {store}")]
    Chunk {
        /// The path of the variable.
        variable: String,
        /// The key of the chunk.
        key: String,
        /// The store.
        store: String,
        /// What happened.
        source: Box<ChunkError>,
    },
    /// A codec of a variable is not found.
    #[error("variable {variable:?}")]
    Resolve {
        /// The path of the variable.
        variable: String,
        /// The codec, and the reason.
        source: Box<ResolveError>,
    },
    /// The codec JSON of a variable is malformed, or cannot be written.
    #[error("variable {variable:?}")]
    Spec {
        /// The path of the variable.
        variable: String,
        /// What is wrong with it.
        source: Box<SpecError>,
    },
    /// The codecs of a variable do not fit its chunks.
    #[error("variable {variable:?}")]
    Chain {
        /// The path of the variable.
        variable: String,
        /// The error of the codec.
        source: Box<ChainError>,
    },
    /// The filters of a variable cannot be defined as requested.
    #[error(transparent)]
    Filter(Box<FilterError>),
    /// The variable cannot be used in this way.
    #[error("variable {variable:?}: {reason}")]
    Unsupported {
        /// The path of the variable.
        variable: String,
        /// Why, and the remedy.
        reason: String,
    },
    /// netcdf-c and numcodecs disagree about the element size of a shuffle.
    #[error(
        "variable {variable:?}: its shuffle has element size {stored}, but the type has {type_size} bytes: netcdf-c \
         reads \
         such data with {type_size}, numcodecs with {stored}; choose one of them"
    )]
    ShuffleSize {
        /// The path of the variable.
        variable: String,
        /// The element size in the metadata.
        stored: u64,
        /// The size of an element of the variable.
        type_size: u64,
    },
    /// The variable's type cannot hold a string.
    #[error("variable {variable:?}, element {index:?}")]
    String {
        /// The path of the variable.
        variable: String,
        /// The position of the element.
        index: Vec<u64>,
        /// What is wrong with it.
        source: StringError,
    },
    /// The dataset was opened in a way that does not allow changes.
    #[error("the dataset in {store} cannot be changed: {reason}")]
    NotWritable {
        /// The store.
        store: String,
        /// Why, and the remedy.
        reason: &'static str,
    },
    /// An object already exists at the location of a new dataset, or of a new part of a dataset.
    #[error(
        "{key:?} exists already in {store}: it belongs to another dataset, or was left by a program that was stopped; \
         replace the whole dataset, remove it, or choose another name"
    )]
    ObjectExists {
        /// The store.
        store: String,
        /// The key of the object.
        key: String,
    },
    /// A document of the dataset has changed since it was read.
    #[error("{key:?} in {store} was changed by another program since the dataset was opened; open it again")]
    Changed {
        /// The store.
        store: String,
        /// The document.
        key: String,
    },
    /// Another program is appending to the dataset, or may be.
    #[error(
        "the dataset in {store} cannot be changed now: {interrupted}; wait for its end, or, if no program writes to \
         the \
         dataset, repair it"
    )]
    Busy {
        /// The store.
        store: String,
        /// What the other program is doing.
        interrupted: Box<Interrupted>,
    },
    /// The journal of interrupted growth cannot be applied.
    #[error(
        "the journal \".ncz-journal\" of the dataset in {store} cannot be followed: {reason}; a repair removes it \
         and leaves each document as it is: look at the lengths of the variables first"
    )]
    Journal {
        /// The store.
        store: String,
        /// Why.
        reason: String,
    },
    /// The change affects something that cannot change once it is in the dataset.
    #[error(
        "{path:?} is already in the dataset: its {what} cannot be changed; copy the dataset to change it"
    )]
    LateDefinition {
        /// The path of the group, dimension or variable.
        path: String,
        /// What was to be changed.
        what: &'static str,
    },
    /// The change affects the fill value of a variable that is already in the dataset.
    #[error(
        "variable {variable:?} is already in the dataset: its fill value cannot be changed, because elements that \
         were never written read as the fill value; copy the dataset to change it"
    )]
    LateFill {
        /// The path of the variable.
        variable: String,
    },
    /// A write reaches beyond the end of a dimension that is not unlimited.
    #[error(
        "variable {variable:?}: its dimension {dimension:?} has {len} elements and is not unlimited, but the write \
         reaches to {end}; resize the variable first"
    )]
    FixedDimension {
        /// The path of the variable.
        variable: String,
        /// The path of the dimension.
        dimension: String,
        /// Its length.
        len: u64,
        /// The first element of the write.
        start: u64,
        /// The end of the write.
        end: u64,
    },
    /// A file of this format cannot hold the dataset, or its metadata cannot be written.
    #[error("the dataset cannot be written to {location}")]
    Write {
        /// The file.
        location: String,
        /// Why.
        source: SourceError,
    },
    /// The store failed outside a chunk.
    #[error("the dataset in {store}")]
    Store {
        /// The store.
        store: String,
        /// What happened.
        source: StoreError,
    },
}

/// Why an element cannot hold a string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StringError {
    /// It is longer than an element.
    #[error(
        "the string {start:?} has {len} {unit}, but an element holds {most}; give the variable longer strings \
         (_nczarr_maxstrlen), or choose to cut strings"
    )]
    TooLong {
        /// How it starts.
        start: String,
        /// Its length.
        len: usize,
        /// The length of an element.
        most: usize,
        /// What is counted: bytes or characters.
        unit: &'static str,
    },
    /// It contains a NUL, which would end the string.
    #[error(
        "the string {start:?} has a NUL at byte {at}, which ends a string of a fixed length; remove it, or choose to \
         cut strings there"
    )]
    Nul {
        /// How it starts.
        start: String,
        /// The position of the NUL in bytes.
        at: usize,
    },
    /// It is not UTF-8, but the type holds text.
    #[error("the string {start:?} is not UTF-8 from its byte {at} on; the type holds only text")]
    NotUtf8 {
        /// How it starts.
        start: String,
        /// The position of the first invalid byte.
        at: usize,
    },
    /// A stored code point does not exist.
    #[error("{code:#x} in the chunk {chunk:?} is not a character code; the chunk is damaged")]
    Code {
        /// The number stored.
        code: u32,
        /// The coordinates of the chunk.
        chunk: Vec<u64>,
    },
}

impl From<FilterError> for DataError {
    fn from(source: FilterError) -> Self {
        Self::Filter(Box::new(source))
    }
}

impl DataError {
    /// The remedy, if known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Busy { .. } | Self::Journal { .. } => Some(Remedy::Repair),
            Self::ShuffleSize { .. } => Some(Remedy::ChooseShuffleSize),
            Self::Metadata(error) => error.remedy(),
            _ => None,
        }
    }

    /// Whether the values of a user-defined type need too much memory together, so that fewer can be read.
    #[must_use]
    pub fn is_of_long_rows(&self) -> bool {
        match self {
            Self::Chunk { source, .. } => matches!(**source, ChunkError::LongRows { .. }),
            _ => false,
        }
    }

    /// The error for a variable whose elements have no bytes, so that it has no data to read or write.
    #[must_use]
    pub fn without_size(variable: &Variable) -> Self {
        let reason = format!("its element type {} has no size", variable.dtype);
        Self::Unsupported { variable: variable.path.clone(), reason }
    }

    /// Returns the nearest netCDF error number (`netcdf.h`).
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::Metadata(error) => error.netcdf_code(),
            Self::NotWritable { .. } | Self::Busy { .. } => -37,
            Self::ObjectExists { .. } => -35,
            Self::Changed { .. } | Self::Journal { .. } | Self::Write { .. } => -68,
            Self::LateDefinition { .. } => -123,
            Self::LateFill { .. } => -122,
            Self::FixedDimension { len, start, .. } if start > len => -40,
            Self::FixedDimension { .. } => -57,
            Self::Slab { source: SlabError::Stride { .. }, .. } => -58,
            Self::Slab { source: SlabError::Bounds { .. } | SlabError::Chunk { .. }, .. } => -57,
            Self::ElementType { .. } => -45,
            Self::Slab { .. } | Self::Unsupported { .. } | Self::ShuffleSize { .. } | Self::String { .. } => {
                -36
            }
            Self::Store { source, .. } => source.netcdf_code(),
            Self::Chunk { source, .. } => source.netcdf_code(),
            Self::Resolve { source, .. } => source.netcdf_code(),
            Self::Filter(source) => source.netcdf_code(),
            Self::Chain { .. } | Self::Spec { .. } => -132,
        }
    }
}
