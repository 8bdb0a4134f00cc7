//! Its entry function returns no codec record: netcdf-c crashes.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{FILTER, entry, plugin};

plugin!(hdf5: FILTER);
entry!(NCZ_get_codec_info -> *const Codec, std::ptr::null());
