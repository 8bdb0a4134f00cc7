//! Its filter id is 65536, more than there are.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { id: 65_536, ..FILTER });
