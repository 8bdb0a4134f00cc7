//! Ends the process while it is opened.
use ncz_bad_plugins::{CODEC, FILTER, on_load, plugin};

on_load!(std::process::abort);
plugin!(hdf5: FILTER, codec: CODEC);
