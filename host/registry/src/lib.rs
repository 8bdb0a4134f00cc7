//! Finds, loads, pairs and runs codec plugins.

pub mod chain;
pub mod discover;
pub mod error;
pub mod isolate;
pub mod known;
pub mod load;
pub mod lock;
pub mod pair;
pub mod registry;
pub mod report;
pub mod resolve;
pub mod search_path;
pub mod spec;
pub mod symbols;
pub mod trust;
pub mod why;

mod entry;
#[cfg(target_os = "linux")]
mod file_limit;
mod json_half;
mod lent;
mod missing;
mod trace;

pub use entry::{CodecOrigin, Entry, Face, HalfOrigin, Other};
pub use error::NotFound;
pub use registry::Registry;
