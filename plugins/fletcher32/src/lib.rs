//! The fletcher32 codec.
