//! The NCZarr codec of my-delta8 for netcdf-c, for a filter that is in another library.
ncz_codec::export!(nczarr: my_delta8::Delta8);
