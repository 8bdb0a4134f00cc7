//! Damaged and synthetic input for everything that reads bytes from outside.
//!
//! A [`Target`] says what must hold for any input: more than that nothing panics. It starts from documents, archives
//! and chunks of `tests/fixtures`, which [`mutate`] changes as somebody who knows their grammar would. An input that
//! breaks a target stays in `corpus/<target>/`, and the tests run all of these again.
//!
//! There is no instrumentation, so this runs on stable Rust. Instead of coverage it uses a target's report on an
//! input (the messages of errors, without names and numbers): an input with a new answer is changed
//! further.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken promise is a panic, which the runner reports with its input"
)]

// The one codec of this repository that is not built in.

pub mod case;
pub mod corpus;
pub mod fixtures;
pub mod mutate;
pub mod runner;
pub mod targets;
mod watch;

pub use case::Case;
pub use targets::Target;
