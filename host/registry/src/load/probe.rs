//! Raw calls into plugins, for the conformance runner: what a host would check or repair is told as it is.
//!
//! A plugin that breaks a rule may end the process from in here. Only a process that can be spared calls
//! these functions.

mod allocator;
mod codec_call;
mod filter_call;
mod memory;

pub use allocator::{BlockFault, Host, allocate, free, resize};
pub use codec_call::{JsonAnswer, WordsAnswer};
pub use filter_call::{FilterAnswer, FilterCall};
pub use memory::{Guarded, heap_in_use};
