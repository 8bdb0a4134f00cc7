//! The bitshuffle codec as a plugin for HDF5, netcdf-c and ncz.
ncz_codec::export!(ncz_bitshuffle::Bitshuffle);
