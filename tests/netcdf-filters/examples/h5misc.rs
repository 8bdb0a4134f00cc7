//! netcdf-c's filter `test`; its NCZarr codec is `zmisc`.
use ncz_bad_plugins::plugin;
use ncz_netcdf_filters::{misc, named_filter};

plugin!(hdf5: named_filter::<misc::Misc>(misc::ID, c"test"));
