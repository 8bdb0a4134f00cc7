//! Exports a function that is not an entry point.
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

entry!(tiny_version -> i32, 1);
plugin!(hdf5: FILTER, codec: CODEC);
