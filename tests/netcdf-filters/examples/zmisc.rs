//! The NCZarr codec of netcdf-c's filter `test`.
use ncz_bad_plugins::plugin;
use ncz_netcdf_filters::{misc, named_codec};

plugin!(codec: named_codec::<misc::MiscCodec>(misc::ID, c"test"));
