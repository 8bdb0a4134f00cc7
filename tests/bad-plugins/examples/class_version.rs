//! Its filter's record has version 2, which is not defined.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { version: 2, ..FILTER });
