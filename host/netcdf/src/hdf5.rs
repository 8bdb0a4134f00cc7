//! HDF5 files: the objects in them, and where their data are.
//!
//! By "HDF5 File Format Specification", version 4.0. Addresses are those of the file format, relative to its base;
//! offsets in messages count from the start of the file.

mod attributes;
mod cursor;
mod dataset;
mod dataspace;
mod decode;
mod error;
mod file;
mod file_bytes;
mod global_heap;
mod group;
mod header;
mod index;
mod layout;
mod shared;

pub(crate) use self::attributes::{Attributes, RawAttribute};
pub(crate) use self::cursor::{before_nul, before_padding};
pub(crate) use self::dataset::{Dataset, Fill, committed};
pub(crate) use self::dataspace::Dataspace;
pub(crate) use self::decode::{
    ByteOrder as StoredOrder, CompoundMember, DatatypeMessage, EnumMember, IeeeFormat, decode_datatype,
    element_size,
};
pub use self::error::Hdf5Error;
pub(crate) use self::file::{File, find};
pub(crate) use self::global_heap::{Collections, Reference};
pub(crate) use self::group::{Target, links};
pub(crate) use self::header::Header;
pub(crate) use self::index::Chunks;
pub(crate) use self::layout::Layout;
