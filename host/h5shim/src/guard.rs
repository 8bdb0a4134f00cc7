//! The guard around every function that C calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function that plugins call: its name and its address in this program.
pub(crate) type Function = (&'static str, *const ());

/// Runs the body of a function that C calls; `failed` if there is nothing to answer, or if it panics: a
/// panic must not enter C.
pub(crate) fn guard<R>(failed: R, body: impl FnOnce() -> Option<R>) -> R {
    catch_unwind(AssertUnwindSafe(body)).ok().flatten().unwrap_or(failed)
}
