//! The crc32 codec as a plugin for ncz.
ncz_codec::export!(native: ncz_crc32::Crc32);
