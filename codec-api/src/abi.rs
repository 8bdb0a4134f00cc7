//! Mirrors of the C interfaces that a plugin offers: types and constants, no logic.
//!
//! Sizes and offsets are pinned by compile-time asserts.

pub mod hdf5;
pub mod native;
pub mod nczarr;
