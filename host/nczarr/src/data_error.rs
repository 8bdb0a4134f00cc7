//! What can go wrong with the data of a variable.

use ncz_registry::chain::ChainError;
use ncz_registry::resolve::ResolveError;
use ncz_registry::spec::SpecError;
use ncz_store::{KeyError, StoreError};

use crate::array::ShardFault;
use crate::error::NczarrError;
use crate::filters::FilterError;
use crate::grid::SlabError;
use crate::journal::Interrupted;
use crate::model::Variable;
use crate::strings::LayoutFault;

/// Why the data of a variable could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The metadata do not allow it.
    #[error(transparent)]
    Metadata(#[from] NczarrError),
    /// The hyperslab does not fit the variable.
    #[error("variable {variable:?}")]
    Slab {
        /// The path of the variable.
        variable: String,
        /// How it does not fit.
        source: SlabError,
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
        source: Box<ChunkFault>,
    },
    /// A codec of a variable cannot be had.
    #[error("variable {variable:?}")]
    Resolve {
        /// The path of the variable.
        variable: String,
        /// Which codec, and why.
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
    /// The codecs of a variable do not fit it.
    #[error("variable {variable:?}")]
    Chain {
        /// The path of the variable.
        variable: String,
        /// What a codec says.
        source: Box<ChainError>,
    },
    /// The filters of a variable cannot be what was asked for.
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
    /// A string is not one of the variable's type.
    #[error("variable {variable:?}, element {index:?}")]
    String {
        /// The path of the variable.
        variable: String,
        /// Where the element stands.
        index: Vec<u64>,
        /// What is wrong with it.
        source: StringFault,
    },
    /// The dataset cannot be changed as it is open.
    #[error("the dataset in {store} cannot be changed: {reason}")]
    NotWritable {
        /// The store.
        store: String,
        /// Why, and the remedy.
        reason: &'static str,
    },
    /// Something is where a new dataset, or a new part of one, should be.
    #[error(
        "{key:?} is in the way in {store}: it is of another dataset, or was left by a program that was stopped; \
         replace the whole dataset, remove it, or choose another name"
    )]
    InTheWay {
        /// The store.
        store: String,
        /// What stands there.
        key: String,
    },
    /// A document of the dataset is no longer what was read.
    #[error("{key:?} in {store} was changed by another program since the dataset was opened; open it again")]
    Changed {
        /// The store.
        store: String,
        /// The document.
        key: String,
    },
    /// Another program makes the dataset longer, or may do so.
    #[error(
        "the dataset in {store} cannot be changed now: {interrupted}; wait for its end, or, if no program writes to the \
         dataset, run ncz verify --repair"
    )]
    Busy {
        /// The store.
        store: String,
        /// What it does.
        interrupted: Box<Interrupted>,
    },
    /// The journal of interrupted growth cannot be followed.
    #[error(
        "the journal \".ncz-journal\" of the dataset in {store} cannot be followed: {reason}; ncz verify --repair removes \
         it and leaves each document as it is: look at the lengths of the variables before it"
    )]
    Journal {
        /// The store.
        store: String,
        /// Why.
        reason: String,
    },
    /// The change is of something that cannot change once it is in the dataset.
    #[error(
        "{path:?} is in the dataset already: its {what} cannot be changed; copy the dataset to change it"
    )]
    LateDefinition {
        /// The path of the group, dimension or variable.
        path: String,
        /// What was to be changed.
        what: &'static str,
    },
    /// The change is of the fill value of a variable that is in the dataset already.
    #[error(
        "variable {variable:?} is in the dataset already: its fill value cannot be changed, for what was never \
         written reads as it; copy the dataset to change it"
    )]
    LateFill {
        /// The path of the variable.
        variable: String,
    },
    /// A write beyond the end of a dimension that does not grow.
    #[error(
        "variable {variable:?}: its dimension {dimension:?} has {len} elements and is not unlimited, the write \
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
        /// Where the write ends.
        end: u64,
    },
    /// The store failed outside of a chunk.
    #[error("the dataset in {store}")]
    Store {
        /// The store.
        store: String,
        /// What happened.
        source: StoreError,
    },
}

/// What is wrong with one string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StringFault {
    /// It is longer than an element.
    #[error(
        "the string {start:?} has {len} {unit}, an element {most}; give the variable longer strings \
         (_nczarr_maxstrlen), or ask for strings to be cut"
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
    /// It holds a NUL, which would be taken for its end.
    #[error(
        "the string {start:?} has a NUL at {at}, which ends a string of a fixed length; remove it, or ask for \
         strings to be cut there"
    )]
    Nul {
        /// How it starts.
        start: String,
        /// The byte.
        at: usize,
    },
    /// It is no text, which the type holds.
    #[error("the string {start:?} is no UTF-8 from its byte {at} on; the type holds text alone")]
    NotUtf8 {
        /// How it starts.
        start: String,
        /// Its first byte that is wrong.
        at: usize,
    },
    /// A stored code point is none.
    #[error("{code:#x} in the chunk {chunk:?} is the code of no character; the chunk is damaged")]
    Code {
        /// The number stored.
        code: u32,
        /// The coordinates of the chunk.
        chunk: Vec<u64>,
    },
}

/// What is wrong with one chunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkFault {
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The key cannot be one of a store.
    #[error("the key is not usable")]
    Key(#[from] KeyError),
    /// A codec failed.
    #[error("the chunk cannot be {}", if .0.operation == ncz_registry::chain::Operation::Encode { "encoded" } else { "decoded; it is damaged, or was written with other codecs than the metadata say" })]
    Chain(#[from] ChainError),
    /// A lossy codec refuses a chunk that reaches behind the end of an array that may get longer.
    #[error(
        "it may be for the fill value, which it holds behind the end of the array (chunks whose lengths divide those of the array hold none)"
    )]
    Padded(#[source] Box<ChunkFault>),
    /// A lossy codec would make data of missing values.
    #[error(
        "its {name} {value} would be read as {read} behind the codec {codec}, so that missing values become data; choose other parameters, or a lossless codec"
    )]
    MissingChanged {
        /// Who says that the value stands for missing ones: the fill value, or the attribute `missing_value`.
        name: &'static str,
        /// The value.
        value: String,
        /// What would be read in its place.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// A lossy codec would make missing values of data.
    #[error(
        "{value} would be read as its {name} {read} behind the codec {codec}, so that data become missing; choose other parameters, or a lossless codec"
    )]
    DataMissing {
        /// The value.
        value: String,
        /// Who says that what is read stands for missing values: the fill value, or the attribute `missing_value`.
        name: &'static str,
        /// What would be read in its place.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// What a lossy codec has just made of a chunk cannot be decoded.
    #[error(
        "the codecs do not read again what they have made of the chunk; choose other parameters, or other codecs"
    )]
    Unreadable(#[source] ChainError),
    /// A lossy codec would destroy values that are near to missing ones.
    #[error(
        "{value} would be read as {read} behind the codec {codec}, because of missing values near it, or elements that are not written yet; choose other parameters, or a lossless codec"
    )]
    LostBesideMissing {
        /// The value.
        value: String,
        /// What would be read in its place.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// An uncompressed chunk of another length than the metadata say.
    #[error("the chunk has {got} bytes where the metadata ask for {want}; it is damaged or of another shape")]
    Length {
        /// Bytes of a chunk.
        want: u64,
        /// Bytes found.
        got: u64,
    },
    /// A stored chunk that is longer than its codecs make any.
    #[error(
        "the stored chunk has {got} bytes, its codecs ({chain}) make at most {most}; it is no chunk of this variable"
    )]
    TooLong {
        /// Bytes found.
        got: u64,
        /// The most that the codecs make of a chunk, with room to spare.
        most: u64,
        /// The codecs as filter text.
        chain: String,
    },
    /// The decoded bytes are no strings.
    #[error("the chunk is damaged, or was written with other codecs than the metadata say")]
    Strings(#[from] LayoutFault),
    /// The strings of one chunk are too long together.
    #[error("the strings of the chunk have more than {most} bytes together; choose smaller chunks")]
    LongStrings {
        /// The most that a chunk of strings may have.
        most: usize,
    },
    /// One chunk of a shard.
    #[error("chunk {index:?}, one of those in the shard")]
    InShard {
        /// Its coordinates among the chunks of the array.
        index: Vec<u64>,
        /// What happened.
        source: Box<ChunkFault>,
    },
    /// A shard is damaged.
    #[error(transparent)]
    Shard(#[from] ShardFault),
    /// There is no memory for the chunk.
    #[error("no memory for a chunk of {len} bytes")]
    Memory {
        /// Bytes of a chunk.
        len: usize,
    },
}

impl From<FilterError> for DataError {
    fn from(source: FilterError) -> Self {
        Self::Filter(Box::new(source))
    }
}

impl DataError {
    /// Elements of the variable have no bytes, so that it has no data to read or write.
    pub(crate) fn without_size(variable: &Variable) -> Self {
        let reason = format!("its element type {} has no size", variable.dtype);
        Self::Unsupported { variable: variable.path.clone(), reason }
    }

    /// The netCDF error number (`netcdf.h`) that comes nearest.
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::Metadata(error) => error.netcdf_code(),
            Self::NotWritable { .. } | Self::Busy { .. } => -37,
            Self::InTheWay { .. } => -35,
            Self::Changed { .. } | Self::Journal { .. } => -68,
            Self::LateDefinition { .. } => -123,
            Self::LateFill { .. } => -122,
            Self::FixedDimension { len, start, .. } if start > len => -40,
            Self::FixedDimension { .. } => -57,
            Self::Slab { source: SlabError::Stride { .. }, .. } => -58,
            Self::Slab { source: SlabError::Bounds { .. } | SlabError::Chunk { .. }, .. } => -57,
            Self::Slab { .. } | Self::Unsupported { .. } | Self::String { .. } => -36,
            Self::Store { source, .. } => source.netcdf_code(),
            Self::Chunk { source, .. } => source.netcdf_code(),
            Self::Resolve { source, .. } => source.netcdf_code(),
            Self::Filter(source) => source.netcdf_code(),
            Self::Chain { .. } | Self::Spec { .. } => -132,
        }
    }
}

impl ChunkFault {
    fn netcdf_code(&self) -> i32 {
        match self {
            Self::Store(source) => source.netcdf_code(),
            Self::InShard { source, .. } => source.netcdf_code(),
            Self::Memory { .. } => -61,
            _ => -132,
        }
    }
}
