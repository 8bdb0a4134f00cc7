//! A small codec that keeps every rule of the plugin interfaces, and the parts to take it apart.
//!
//! Each file in `examples/` is a plugin that breaks one rule; the expected verdict of the conformance
//! runner is in `VERDICTS.md`. The files `good*.rs` break none. A bad plugin shows its fault and nothing else:
//!
//! ```ignore
//! //! States that its block holds one byte, whatever it returns.
//! use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};
//!
//! struct Small;
//!
//! impl Filter for Small {
//!     fn run(chunk: &mut Chunk<'_>) -> usize {
//!         let len = chunk.good();
//!         *chunk.block_size = 1;
//!         len
//!     }
//! }
//!
//! plugin!(hdf5: filter::<Small>(), codec: CODEC);
//! ```
//!
//! A `SAFETY` comment that begins with "none" marks what is unsound on purpose.

pub mod tiny;

mod export;
mod filter;
mod native;
mod nczarr_codec;

pub use ncz_codec::abi;

pub use filter::{Chunk, FILTER, Filter, filter};
pub use native::{
    Native, TABLE_SIZE, Transcoder, Twist, Twisted, TwistedCoder, table, table_of, transcoder, twisted,
};
pub use nczarr_codec::{CODEC, Json, Words, codec, good_json, put_text};
pub use tiny::{ID, NAME, Tiny};
