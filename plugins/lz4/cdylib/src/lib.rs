//! The lz4 codec as a plugin for ncz.
ncz_codec::export!(native: ncz_lz4::Lz4);
