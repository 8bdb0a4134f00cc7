//! The nbit codec as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_nbit::Nbit);
ncz_codec::export!(native: ncz_nbit::Nbit);
