//! What the bytes of a dataset mean: Zarr and NCZarr metadata, types, chunks, slabs.

mod attribute;
mod dtype;
mod error;
mod fill;
pub mod json;
pub mod limits;
pub mod metadata;
mod model;
mod value;

pub use self::attribute::Attribute;
pub use self::dtype::{ByteOrder, Dtype, DtypeError, Kind, NcType};
pub use self::error::{NczarrError, SourceError, VariableFault};
pub use self::fill::{FillText, FillValue, default_fill};
pub use self::model::{
    Consolidated, Dimension, DimensionRef, Format, Generation, Group, GroupDocuments, Hierarchy, NewFill,
    NewVariable, Order, ScalarForm, Separator, Storage, Unreadable, Variable, VariableDocuments, Warning,
    default_chunks,
};
pub use self::value::Value;
