//! What can go wrong with the data of a variable.

use ncz_registry::chain::ChainError;
use ncz_registry::resolve::ResolveError;
use ncz_registry::spec::SpecError;
use ncz_store::{KeyError, StoreError};

use crate::array::ShardFault;
use crate::error::NczarrError;
use crate::grid::SlabError;

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
    /// The variable cannot be used in this way.
    #[error("variable {variable:?}: {reason}")]
    Unsupported {
        /// The path of the variable.
        variable: String,
        /// Why, and the remedy.
        reason: String,
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

impl DataError {
    /// The netCDF error number (`netcdf.h`) that comes nearest.
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::Metadata(error) => error.netcdf_code(),
            Self::Slab { source: SlabError::Stride { .. }, .. } => -58,
            Self::Slab { source: SlabError::Bounds { .. } | SlabError::Chunk { .. }, .. } => -57,
            Self::Slab { .. } | Self::Unsupported { .. } => -36,
            Self::Store { source, .. } => source.netcdf_code(),
            Self::Chunk { source, .. } => source.netcdf_code(),
            Self::Resolve { source, .. } => source.netcdf_code(),
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
