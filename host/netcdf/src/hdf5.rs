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
mod global_heap;
mod group;
mod header;
mod index;
mod layout;
mod shared;

pub use self::error::Hdf5Error;
