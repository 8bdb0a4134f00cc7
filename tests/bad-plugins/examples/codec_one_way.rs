//! Its codec record reads JSON and cannot write it.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, plugin};

plugin!(hdf5: FILTER, codec: Codec { hdf5_to_codec: None, ..CODEC });
