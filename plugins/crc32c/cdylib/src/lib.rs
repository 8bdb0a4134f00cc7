//! The crc32c codec as a plugin for ncz.
ncz_codec::export!(native: ncz_crc32c::Crc32c);
