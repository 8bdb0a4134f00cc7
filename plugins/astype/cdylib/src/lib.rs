//! The astype codec as a plugin for ncz.
ncz_codec::export!(native: ncz_astype::AsType);
