//! The netCDF data model: types, dimensions, groups, variables, attributes, values, slabs and the data of variables.
//!
//! A dataset is a [`Hierarchy`] and, for each [`Variable`], an [`Array`] or a [`StringArray`]. A [`Container`],
//! implemented in a crate above this one, defines how they are stored.

mod array;
mod attribute;
mod blocks;
mod chunk_index;
mod container;
mod container_writer;
mod data_error;
mod dtype;
mod error;
mod fill;
pub mod filters;
mod format;
mod grid;
mod growth;
mod hierarchy;
pub mod json;
pub mod limits;
mod lossy_guard;
pub mod masked;
mod missing_values;
pub mod names;
mod netcdf_view;
mod pool;
pub mod quantize;
mod remedy;
mod session;
pub mod shuffle;
mod strings;
mod user_array;
mod user_type;
mod user_value;
mod value;

pub use self::array::{
    Array, Element, Elements, LossyTerms, NextChunk, ObjectKeys, Values, Worker, Written, codec_env,
};
pub use self::attribute::{Attribute, RESERVED};
pub use self::blocks::Blocks;
pub use self::chunk_index::{ChunkIndex, ChunkLocation, Extent};
pub use self::container::Container;
pub use self::container_writer::ContainerWriter;
pub use self::data_error::{ChunkError, DataError, FilterError, LayoutError, ShardError, StringError};
pub use self::dtype::{ByteOrder, Dtype, DtypeError, Kind, NcType};
pub use self::error::{MetadataError, SourceError, VariableError};
pub use self::fill::{FillText, FillValue, base64, default_fill, half_bits, integer, no_fill_v3};
pub use self::filters::{BloscFilter, FilterDefinition, Filters, Phase, SzipFilter};
pub use self::format::{Format, Generation, NetcdfKind};
pub use self::grid::{AxisRange, Select, Selected, Slab, SlabError, SlabPart, product};
pub use self::growth::{Appending, Interrupted, Lengths, Reached};
pub use self::hierarchy::{
    Consolidated, Dimension, DimensionRef, Group, GroupDocuments, Hdf5Properties, Hierarchy, KeyEncoding,
    NewFill, Order, ScalarForm, Separator, Sharding, Storage, Unreadable, Variable, VariableBuilder,
    VariableDocuments, Warning, default_chunks, document_key, split_path,
};
pub use self::masked::is_same_number;
pub use self::missing_values::{MissingValue, MissingValues};
pub use self::names::join_path;
pub use self::netcdf_view::NetcdfView;
pub use self::pool::{IN_FLIGHT_BYTES, Pool, PoolError, Tasks};
pub use self::quantize::{Quantize, QuantizeError, QuantizeMode, Quantizer};
pub use self::remedy::Remedy;
pub use self::session::{LossyGuard, Session, ShuffleReading};
pub use self::strings::{MAX_CHUNK_BYTES, StringArray, StringChunks, Strings};
pub use self::user_array::{SideError, Take, UserArray, UserElements};
pub use self::user_type::{ElementType, EnumMember, Field, TypeClass, UserType};
pub use self::user_value::{Row, UserValue, integer_at, row_json, same_rows};
pub use self::value::Value;
