//! The delta codec as a plugin for ncz.
ncz_codec::export!(native: ncz_delta::Delta);
