//! What every function does that C calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function that C calls; `failed` if there is nothing to answer, or if it panics: a
/// panic must not enter C.
pub(crate) fn guard<R>(failed: R, body: impl FnOnce() -> Option<R>) -> R {
    catch_unwind(AssertUnwindSafe(body)).ok().flatten().unwrap_or(failed)
}
