//! The my-delta8 codec as a plugin for HDF5, netcdf-c and ncz.
ncz_codec::export!(my_delta8::Delta8);
