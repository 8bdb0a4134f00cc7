//! The bitround codec as a plugin for ncz.
ncz_codec::export!(native: ncz_bitround::BitRound);
