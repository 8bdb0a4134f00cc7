//! Its codec record has the layout of the draft of 2021, which no netcdf-c uses.
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

entry!(NCZ_codec_type -> i32, 1);
plugin!(hdf5: FILTER, codec: CODEC);
