//! Datasets behind an HTTP or HTTPS server, for reading.

mod config;

pub use config::HttpConfig;
