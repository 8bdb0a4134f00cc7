//! The lz4h5 codec as a plugin for HDF5, netcdf-c and ncz.
ncz_codec::export!(ncz_lz4h5::Lz4H5);
