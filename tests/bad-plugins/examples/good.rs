//! Breaks no rule: all three faces.
use ncz_bad_plugins::{CODEC, FILTER, plugin, table};

plugin!(hdf5: FILTER, codec: CODEC, native: table());
