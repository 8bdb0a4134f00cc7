//! Exports a name of a codec library, as a plugin does that was linked with a static one: another plugin's
//! own copy may be called instead.
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

entry!(ZSTD_compress -> usize, 0);
plugin!(hdf5: FILTER, codec: CODEC);
