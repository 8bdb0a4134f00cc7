//! What netCDF makes of an HDF5 file: groups, dimensions, variables and attributes
//! ("NetCDF-4 Format", <https://docs.unidata.ucar.edu/nug/current/file_format_specifications.html>, and libhdf5/hdf5open.c
//! of netcdf-c).

mod attributes;
mod build;
mod dimensions;
mod linked_files;
pub(crate) mod names;
mod types;
mod user_types;
mod walk;

pub(crate) use self::build::map;
pub(crate) use self::types::element;
