//! Its codec record has version 2, which is not defined.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, plugin};

plugin!(hdf5: FILTER, codec: Codec { version: 2, ..CODEC });
