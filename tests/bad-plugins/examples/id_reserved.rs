//! Its filter id is one of those below 256, which belong to HDF5 itself.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { id: 99, ..FILTER });
