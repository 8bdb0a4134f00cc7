//! Exports nothing by which plugins are known.
use ncz_bad_plugins::entry;

entry!(H5PLget_plugin_version -> i32, 1);
