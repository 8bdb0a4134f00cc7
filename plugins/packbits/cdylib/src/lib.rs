//! The packbits codecs as a plugin for ncz.
ncz_codec::export!(native: ncz_packbits::PackBits, ncz_packbits::PackBitsV3);
