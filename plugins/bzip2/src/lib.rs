//! The bzip2 codec.
