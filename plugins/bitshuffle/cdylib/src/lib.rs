//! The bitshuffle codec as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_bitshuffle::Bitshuffle);
ncz_codec::export!(native: ncz_bitshuffle::Bitshuffle);
