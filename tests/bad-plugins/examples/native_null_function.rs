//! A function of its native table is null.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{CODEC, FILTER, plugin, table};

plugin!(hdf5: FILTER, codec: CODEC, native: Plugin { decoded_len: None, ..table() });
