//! netCDF files: netCDF-4/HDF5 and the classic formats CDF-1, CDF-2 and CDF-5.

pub mod classic;
mod hdf5;
mod hdf5_file;
pub mod hdf5_write;
mod mapping;
mod netcdf_file;
mod source;
mod user_elements;
mod user_layout;
mod writer;

pub use self::hdf5::Hdf5Error;
pub use self::hdf5_file::Hdf5File;
pub use self::netcdf_file::NetcdfFile;
pub use self::source::{ReadError, Source};
pub use self::user_layout::{UserLayout, structured_layout};
pub use self::writer::NetcdfWriter;
