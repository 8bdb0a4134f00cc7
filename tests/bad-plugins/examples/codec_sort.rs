//! Its codec record is of sort 7, which is not defined.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, plugin};

plugin!(hdf5: FILTER, codec: Codec { sort: 7, ..CODEC });
