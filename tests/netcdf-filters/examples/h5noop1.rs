//! netcdf-c's filter `noop1`.
use ncz_bad_plugins::plugin;
use ncz_netcdf_filters::noop::{NOOP1, Noop};
use ncz_netcdf_filters::{named_codec, named_filter};

plugin!(hdf5: named_filter::<Noop<NOOP1>>(NOOP1, c"noop1"), codec: named_codec::<Noop<NOOP1>>(NOOP1, c"noop1"));
