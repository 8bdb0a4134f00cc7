//! Raw calls into plugins, for the conformance runner: results that a host would check or repair are returned
//! unchanged.
//!
//! A plugin that breaks a rule may end the process from in here. Only a process that can be spared calls
//! these functions.

mod allocator;
mod codec_call;
mod filter_call;
mod memory;
mod process;
mod raw_record;

pub use allocator::{BlockError, Host, allocate, free, resize};
pub use codec_call::{JsonAnswer, WordsAnswer};
pub use filter_call::{BareCalls, FilterAnswer, FilterCall, ParamsEnd};
pub use memory::{Guarded, fill_fresh_memory, heap_in_use};
pub use process::{Disposition, dispositions, flush_output, keep_children, locale};
pub use raw_record::{RawCodec, RawCodecFields, RawDefaults, RawFilter, RawFilterFields, RawPlugin};
