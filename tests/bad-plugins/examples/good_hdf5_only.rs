//! Breaks no rule: a filter for HDF5 only.
use ncz_bad_plugins::{FILTER, plugin};

plugin!(hdf5: FILTER);
