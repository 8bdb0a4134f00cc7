//! What the bytes of a dataset mean: Zarr and NCZarr metadata, types, chunks, slabs.

mod array;
mod attribute;
mod blocks;
pub mod cdl;
mod data_error;
mod dataset;
mod dtype;
mod error;
mod extension;
mod fill;
pub mod filters;
mod grid;
pub mod journal;
pub mod json;
pub mod limits;
mod masked;
pub mod metadata;
mod missing;
mod model;
mod pool;
pub mod quantize;
mod shown;
mod strings;
mod trace;
mod value;

pub use self::array::{Array, Elements, NextChunk, ShardFault, Worker, Written, codec_env};
pub use self::attribute::Attribute;
pub use self::blocks::Blocks;
pub use self::data_error::{ChunkFault, DataError, StringFault};
pub use self::dataset::{Dataset, Receipt, Session, ShuffleReading};
pub use self::dtype::{ByteOrder, Dtype, DtypeError, Kind, NcType};
pub use self::error::{NczarrError, SourceError, VariableFault};
pub use self::fill::{FillText, FillValue, default_fill};
pub use self::filters::{BloscFilter, FilterDefinition, FilterError, Filters, Phase, SzipFilter};
pub use self::grid::{Slab, SlabError};
pub use self::masked::is_same_number;
pub use self::model::{
    Consolidated, Dimension, DimensionRef, Format, Generation, Group, GroupDocuments, Hierarchy, KeyEncoding,
    NewFill, NewVariable, Order, ScalarForm, Separator, Sharding, Storage, Unreadable, Variable,
    VariableDocuments, Warning, default_chunks,
};
pub use self::pool::{IN_FLIGHT_BYTES, Pool, PoolError};
pub use self::quantize::{Quantize, QuantizeError, QuantizeMode, Quantizer};
pub use self::shown::Shown;
pub use self::strings::{LayoutFault, StringArray, Strings};
pub use self::value::Value;
