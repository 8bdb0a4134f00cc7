//! The blosc2 codec as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_blosc2::Blosc2);
ncz_codec::export!(native: ncz_blosc2::Blosc2);
