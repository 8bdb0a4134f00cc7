//! Its filter id is 0, which is none.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { id: 0, ..FILTER });
