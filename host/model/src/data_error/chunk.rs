//! The errors of one chunk.

use ncz_registry::chain::{ChainError, Operation};
use ncz_store::{KeyError, StoreError};

use crate::error::SourceError;

/// Why a chunk cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The key is not valid for a store.
    #[error("the key is not usable")]
    Key(#[from] KeyError),
    /// A codec failed.
    #[error("the chunk cannot be {}", if .0.operation == Operation::Encode { "encoded" } else { "decoded; it is damaged, or was written with other codecs than those in the metadata" })]
    Chain(#[from] ChainError),
    /// A lossy codec refuses a chunk that reaches beyond the end of an array that may get longer.
    #[error(
        "it may be for the fill value, which it holds beyond the end of the array (chunks whose lengths divide those \
         of the array hold none)"
    )]
    Padded(#[source] Box<ChunkError>),
    /// A lossy codec would turn missing values into data.
    #[error(
        "its {name} {value} would be read as {read} after the codec {codec}, so that missing values become data; \
         choose other parameters, or a lossless codec"
    )]
    MissingChanged {
        /// The declaration that the value marks missing data: the fill value, or the attribute `missing_value`.
        name: &'static str,
        /// The value.
        value: String,
        /// The value that would be read instead.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// A lossy codec would turn data into missing values.
    #[error(
        "{value} would be read as its {name} {read} after the codec {codec}, so that data become missing; choose \
         other parameters, or a lossless codec"
    )]
    DataMissing {
        /// The value.
        value: String,
        /// The declaration that the value that is read marks missing data: the fill value, or the attribute
        /// `missing_value`.
        name: &'static str,
        /// The value that would be read instead.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// A lossy codec encoded a chunk that cannot be decoded again.
    #[error(
        "the codecs cannot decode their own encoding of the chunk; choose other parameters, or other codecs"
    )]
    Unreadable(#[source] ChainError),
    /// A lossy codec would destroy values near missing ones.
    #[error(
        "{value} would be read as {read} after the codec {codec}, because of missing values near it, or elements that \
         are not written yet; choose other parameters, or a lossless codec"
    )]
    LostBesideMissing {
        /// The value.
        value: String,
        /// The value that would be read instead.
        read: String,
        /// The lossy codec.
        codec: String,
    },
    /// An uncompressed chunk does not have the length in the metadata.
    #[error("the chunk has {got} bytes, but the metadata require {want}; it is damaged or of another shape")]
    Length {
        /// Bytes of a chunk.
        want: u64,
        /// Bytes found.
        got: u64,
    },
    /// A stored chunk is longer than its codecs can make it.
    #[error(
        "the stored chunk has {got} bytes, its codecs ({chain}) make at most {most}; it is not a chunk of this variable"
    )]
    TooLong {
        /// Bytes found.
        got: u64,
        /// An upper bound of the codecs' output for a chunk.
        most: u64,
        /// The codecs as filter text.
        chain: String,
    },
    /// The decoded bytes are not strings.
    #[error("the chunk is damaged, or was written with other codecs than those in the metadata")]
    Strings(#[from] LayoutError),
    /// The strings of one chunk are too long in total.
    #[error("the strings of the chunk have more than {most} bytes together; choose smaller chunks")]
    LongStrings {
        /// The largest length of a chunk of strings.
        most: usize,
    },
    /// The rows of any length and strings of a user-defined type that are read together are too long.
    #[error(
        "the values of a user-defined type that are read together need more than {most} bytes of memory; read less at \
         once, or choose smaller chunks"
    )]
    LongRows {
        /// The largest memory.
        most: u64,
    },
    /// One chunk of an object that holds several: a shard, or a file.
    #[error("chunk {index:?}, one of those in this object")]
    InShard {
        /// Its coordinates among the chunks of the array.
        index: Vec<u64>,
        /// What happened.
        source: Box<ChunkError>,
    },
    /// A shard is damaged.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// The chunk is a part of an object, so it cannot be replaced separately.
    #[error("the chunk is a part of a file, which this program reads only; copy the dataset to change it")]
    NotAnObject,
    /// The index that locates the chunk, or what the chunk refers to, cannot be read.
    #[error("the chunk cannot be located")]
    Index(#[source] SourceError),
    /// What the elements of the chunk are made of, or refer to: another chunk or a heap cannot be read, or a value cannot be
    /// converted.
    #[error(transparent)]
    Elements(SourceError),
    /// The memory for the chunk cannot be allocated.
    #[error("no memory for a chunk of {len} bytes")]
    Memory {
        /// Bytes of a chunk.
        len: usize,
    },
}

/// Why a shard cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The shard is shorter than its index.
    #[error(
        "the shard has {len} bytes, but its index alone needs {index}; it is truncated or has another shape"
    )]
    Short {
        /// Bytes of the shard.
        len: u64,
        /// Bytes of the index.
        index: u64,
    },
    /// The checksum of the index is wrong.
    #[error(
        "the checksum of the shard's index is {stored:08x}, but its bytes have {computed:08x}; it is damaged"
    )]
    Checksum {
        /// As stored.
        stored: u32,
        /// As computed.
        computed: u32,
    },
    /// One word of an entry marks a missing chunk, the other does not.
    #[error(
        "its entry in the shard's index has offset {offset} and length {len}, of which one means a missing chunk"
    )]
    HalfMissing {
        /// As stored.
        offset: u64,
        /// As stored.
        len: u64,
    },
    /// An entry points outside the part of the shard that holds chunks.
    #[error(
        "its entry in the shard's index is {len} bytes from {offset}, but chunks are between {low} and {high}"
    )]
    Outside {
        /// As stored.
        offset: u64,
        /// As stored.
        len: u64,
        /// The first byte after an index at the start, or 0.
        low: u64,
        /// The first byte of an index at the end, or the length of the shard.
        high: u64,
    },
    /// Another program replaced the shard between two reads, and again during the retry.
    #[error("the shard was replaced twice while it was read; read it again when no other program writes")]
    Changed,
}

/// Why bytes are not a chunk of strings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The bytes end before the strings do.
    #[error("the chunk of strings ends after {have} bytes, in string {string} of {strings}")]
    Truncated {
        /// Bytes of the decoded chunk.
        have: usize,
        /// The string that is cut, counted from 0.
        string: usize,
        /// The expected number of strings.
        strings: usize,
    },
    /// The number of strings differs from the number of elements of a chunk.
    #[error("the chunk holds {got} strings, but the metadata require {want}")]
    Count {
        /// Elements of a chunk.
        want: usize,
        /// The number of strings in the chunk.
        got: u64,
    },
    /// Something follows the last string.
    #[error("{len} bytes follow the last string of the chunk")]
    Trailing {
        /// The number of extra bytes.
        len: usize,
    },
    /// A string of a text type is not UTF-8.
    #[error("string {string} of the chunk is not UTF-8 from its byte {at} on")]
    NotUtf8 {
        /// The string, counted from 0.
        string: usize,
        /// The position of the first invalid byte.
        at: usize,
    },
}

impl ChunkError {
    pub(super) fn netcdf_code(&self) -> i32 {
        match self {
            Self::Store(source) => source.netcdf_code(),
            Self::InShard { source, .. } => source.netcdf_code(),
            Self::Memory { .. } => -61,
            _ => -132,
        }
    }
}
