//! The codec half of my-delta8 for netcdf-c, for a filter that another library has.
ncz_codec::export!(nczarr: my_delta8::Delta8);
