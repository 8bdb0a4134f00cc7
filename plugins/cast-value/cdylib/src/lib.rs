//! The cast_value codec as a plugin for ncz.
ncz_codec::export!(native: ncz_cast_value::CastValue);
