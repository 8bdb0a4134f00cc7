//! Its record has no filter function.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { filter: None, ..FILTER });
