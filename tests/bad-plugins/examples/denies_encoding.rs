//! Its record declares that it does not encode, but it does.
use ncz_bad_plugins::abi::hdf5::Class2;
use ncz_bad_plugins::{CODEC, FILTER, plugin};

plugin!(hdf5: Class2 { encoder_present: 0, ..FILTER }, codec: CODEC);
