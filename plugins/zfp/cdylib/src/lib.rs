//! The codecs zfp and zfpy as a plugin for HDF5 and ncz.
ncz_codec::export!(hdf5: ncz_zfp::Zfp);
ncz_codec::export!(native: ncz_zfp::Zfp, ncz_zfp::Zfpy);
