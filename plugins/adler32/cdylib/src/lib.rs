//! The adler32 codec as a plugin for ncz.
ncz_codec::export!(native: ncz_adler32::Adler32);
