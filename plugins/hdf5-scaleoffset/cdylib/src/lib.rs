//! The scaleoffset codec as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_hdf5_scaleoffset::ScaleOffset);
ncz_codec::export!(native: ncz_hdf5_scaleoffset::ScaleOffset);
