//! The name in its record is not UTF-8.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { name: c"tiny \xff\xfe filter".as_ptr(), ..FILTER });
