//! Declares another plugin type: 1, a VOL connector.
use ncz_bad_plugins::{FILTER, entry, face};

entry!(H5PLget_plugin_type -> i32, 1);
face!(hdf5_info, FILTER);
