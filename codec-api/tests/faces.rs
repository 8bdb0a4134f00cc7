//! The faces of a codec, called as C calls them, without loading anything.
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "calls C interfaces as C does, unchecked"
)]

#[path = "faces/hdf5.rs"]
mod hdf5;
#[path = "faces/log.rs"]
mod log;
#[path = "faces/nczarr.rs"]
mod nczarr;
#[path = "faces/rle.rs"]
mod rle;
