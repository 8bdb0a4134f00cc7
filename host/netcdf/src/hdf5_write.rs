//! Writes netCDF-4 files.
//!
//! The bytes of chunks are in the file already, in any order, after the first [`SUPERBLOCK_BYTES`] bytes. An
//! [`Assembler`] appends all that makes them a netCDF-4 file: the indexes of the chunks, the object headers with links,
//! types, dimensions and attributes, the heaps, and last the superblock at the start of the file.
//!
//! The structures are those of HDF5 1.8, which netcdf-c requires: superblock 2, object headers 2, data layouts 3,
//! B-trees of version 1 for chunks ("HDF5 File Format Specification", version 3.0). Creation order of links and
//! attributes is tracked and indexed, so that netcdf-c opens the file to change it.

mod assembler;
mod attributes;
mod check;
mod chunk_tree;
pub(crate) mod datatype;
mod dense;
mod encode;
mod error;
mod global_heap;
mod plan;
mod planned_variable;
mod rows;
mod sink;
mod strings;

pub use self::assembler::{Assembler, StoredChunk, check};
pub use self::error::Hdf5WriteError;
pub(crate) use self::global_heap::reference;
pub(crate) use self::rows::store_row;
pub use self::sink::SUPERBLOCK_BYTES;
pub(crate) use self::strings::text_len;
pub use self::strings::{HeapPart, StringHeap};
