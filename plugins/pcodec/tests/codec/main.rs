//! The configuration and the streams of the codec.

mod config;
mod streams;
