//! The blosc codec.
