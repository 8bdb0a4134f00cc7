//! Its native table is of another major version.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{CODEC, FILTER, plugin, table};

plugin!(hdf5: FILTER, codec: CODEC, native: Plugin { api_version: 99 << 16, ..table() });
