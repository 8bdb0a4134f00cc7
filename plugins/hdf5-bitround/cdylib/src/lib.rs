//! The bitroundh5 codec as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_hdf5_bitround::BitRoundH5);
ncz_codec::export!(native: ncz_hdf5_bitround::BitRoundH5);
