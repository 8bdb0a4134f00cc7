//! Progress of long operations, and how to stop them.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use ncz::progress::Progress;
//!
//! /// Stops after a number of bytes.
//! struct Limit {
//!     done: AtomicU64,
//!     max: u64,
//! }
//!
//! impl Progress for Limit {
//!     fn advance(&self, bytes: u64) -> ControlFlow<()> {
//!         let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
//!         if done > self.max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
//!     }
//! }
//! ```

use std::ops::ControlFlow;

use ncz_model::Hierarchy;

use crate::readers::Refusal;

/// Follows an operation. The methods are called on any of its threads.
pub trait Progress: Sync {
    /// Codecs of the source are replaced in a copy, because programs that are to read it lack them
    /// ([`CopyOptions::codecs_for`](crate::copy::CopyOptions::codecs_for)). `instead` of each has what is stored now.
    fn codecs_replaced(&self, replaced: &[Refusal]) {
        let _ = replaced;
    }

    /// The metadata of a copy are known, and nothing of it is written yet.
    fn planned(&self, copy: &Hierarchy) {
        let _ = copy;
    }

    /// A phase begins, with this many bytes of decoded data to go through.
    fn begin(&self, phase: Phase, total: u64) {
        let _ = (phase, total);
    }

    /// This many more bytes are done. `Break` stops the operation.
    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        let _ = bytes;
        ControlFlow::Continue(())
    }
}

/// What an operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Moving chunks.
    Copy,
    /// Writing references to chunks.
    Refer,
    /// Creating a dataset from CDL or NcML.
    Generate,
    /// Comparing source and target, or decoding every chunk.
    Verify,
    /// Searching for what can be repaired.
    Repair,
}

/// Ignores everything.
impl Progress for () {}
