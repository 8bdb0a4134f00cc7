//! The zstd codec.
