//! netcdf-c's filter `noop`.
use ncz_bad_plugins::plugin;
use ncz_netcdf_filters::noop::{NOOP, Noop};
use ncz_netcdf_filters::{named_codec, named_filter};

plugin!(hdf5: named_filter::<Noop<NOOP>>(NOOP, c"noop"), codec: named_codec::<Noop<NOOP>>(NOOP, c"noop"));
