//! The my-delta8 filter as a plugin for HDF5 alone.
ncz_codec::export!(hdf5: my_delta8::Delta8);
