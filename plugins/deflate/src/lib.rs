//! The deflate codec.
