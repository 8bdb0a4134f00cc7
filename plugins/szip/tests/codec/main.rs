//! The configuration and the streams of the codec.

mod coder;
mod config;
mod streams;
