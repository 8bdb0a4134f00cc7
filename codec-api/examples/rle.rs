//! A complete plugin in one file, for tests: the run-length codec as a shared library.

#[path = "../tests/faces/rle.rs"]
mod rle;

ncz_codec::export!(rle::Rle);
