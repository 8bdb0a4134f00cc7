//! Exports one of HDF5's two names without the other.
use ncz_bad_plugins::{CODEC, FILTER, face, plugin, table};

face!(hdf5_info, FILTER);
plugin!(codec: CODEC, native: table());
