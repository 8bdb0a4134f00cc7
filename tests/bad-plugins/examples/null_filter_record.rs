//! Its entry function returns no record.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::entry;

entry!(H5PLget_plugin_type -> i32, 0);
entry!(H5PLget_plugin_info -> *const Class2, std::ptr::null());
