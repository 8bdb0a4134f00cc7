//! netCDF files: netCDF-4/HDF5 and the classic formats CDF-1, CDF-2 and CDF-5.

pub mod classic;
mod hdf5;
mod source;

pub use self::hdf5::Hdf5Error;
pub use self::source::{ReadError, Source};
