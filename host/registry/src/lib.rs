//! Finds, loads, pairs and runs codec plugins.

pub mod chain;
pub mod discover;
pub mod pair;
pub mod search_path;
pub mod spec;
pub mod symbols;
pub mod trust;
