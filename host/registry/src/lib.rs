//! Finds, loads, pairs and runs codec plugins.

pub mod chain;
pub mod spec;
