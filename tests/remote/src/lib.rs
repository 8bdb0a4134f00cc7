//! What the tests of remote stores share.
//!
//! * [`Sample`]: a small dataset in which every value encodes its position.
//! * [`client`]: stores of the servers in this process, by clients with little patience.
//! * [`explained`]: an error with its causes, as the command shows it.

#![forbid(unsafe_code)]
#![expect(clippy::expect_used, clippy::panic, reason = "it runs in tests only")]

pub mod client;
mod sample;

use std::error::Error;

pub use self::sample::{Contents, NEW, OLD, Sample, contents};

/// An error with its causes.
#[must_use]
pub fn explained(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
