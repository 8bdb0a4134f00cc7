//! Breaks no rule: a filter for HDF5 alone.
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: FILTER);
