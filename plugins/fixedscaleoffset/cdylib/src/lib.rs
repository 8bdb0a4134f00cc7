//! The fixedscaleoffset codec as a plugin for ncz.
ncz_codec::export!(native: ncz_fixedscaleoffset::FixedScaleOffset);
