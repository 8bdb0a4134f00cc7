//! The my-delta8 filter as a plugin for HDF5 only.
ncz_codec::export!(hdf5: my_delta8::Delta8);
