//! Its filter id is 65535, which HDF5 takes and netcdf-c does not.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { id: 65_535, ..FILTER });
