//! The configuration and the streams of the codec.

mod config;
#[path = "../../../shared/tests/properties.rs"]
mod properties;
mod streams;
mod v3;
