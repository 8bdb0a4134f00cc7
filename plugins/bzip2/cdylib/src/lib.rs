//! The bzip2 codec as a plugin for HDF5, netcdf-c and ncz.
ncz_codec::export!(ncz_bzip2::Bzip2);
