//! The shuffle codec.
