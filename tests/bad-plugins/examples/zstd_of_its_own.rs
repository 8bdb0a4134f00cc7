//! Has the id and the name of zstd, but not its streams.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: Class2 { id: 32_015, name: c"zstd".as_ptr(), ..FILTER });
