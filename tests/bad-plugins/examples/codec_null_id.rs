//! Its codec record has no codec id.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, plugin};

plugin!(hdf5: FILTER, codec: Codec { codecid: std::ptr::null(), ..CODEC });
