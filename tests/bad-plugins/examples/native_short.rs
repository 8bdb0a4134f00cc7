//! Its native table is shorter than its version requires.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{CODEC, FILTER, TABLE_SIZE, plugin, table};

plugin!(hdf5: FILTER, codec: CODEC, native: Plugin { size: TABLE_SIZE - 8, ..table() });
