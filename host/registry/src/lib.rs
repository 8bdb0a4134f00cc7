//! Finds, loads, pairs and runs codec plugins, on Linux and macOS.

pub mod allow_list;
pub mod chain;
pub mod discover;
pub mod error;
pub mod explain;
pub mod isolate;
pub mod known;
pub mod load;
pub mod pair;
pub mod registry;
pub mod report;
pub mod requirement;
pub mod resolve;
pub mod search_path;
pub mod spec;
pub mod symbols;
pub mod trust;

mod borrowed_json;
mod bounded;
mod entry;
#[cfg(target_os = "linux")]
mod file_limit;
mod imagecodecs;
mod json_text;
mod not_found;
mod trace;

pub use entry::{CodecOrigin, Entry, Face, Other, TranslatorOrigin};
pub use error::NotFound;
pub use registry::Registry;
