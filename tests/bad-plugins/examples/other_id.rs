//! Its NCZarr codec belongs to another filter id than its HDF5 filter has.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, ID, plugin};

plugin!(hdf5: FILTER, codec: Codec { hdf5id: ID + 1, ..CODEC });
