//! The lz4h5 codec as a plugin for HDF5, netcdf-c and ncz.
ncz_codec::export!(ncz_hdf5_lz4::Lz4H5);
