//! Datasets in S3, and in what speaks its protocol.

mod config;

pub use config::{Addressing, Checksums, Credentials, S3Config};
