//! What is answered to a plugin, one thread at a time.

use crate::dataset::{Dataset, FilterEntry};
use crate::variable::Variable;

/// What `can_apply` and `set_local` are called with. Valid only in the thread and the closure that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handles {
    /// The creation property list.
    pub dcpl: i64,
    /// The type of an element.
    pub ty: i64,
    /// The dataspace: one chunk.
    pub space: i64,
}

/// What plugins did during a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The filters now: `set_local` replaces parameters, and some filters remove themselves.
    pub filters: Vec<FilterEntry>,
    /// A filter's entry was replaced (`H5Pmodify_filter`), if perhaps by what it was. A `set_local` that
    /// did not do this has not set anything.
    pub modified: bool,
    /// Messages that were pushed on the error stack, oldest first. Bytes that are no text are replaced.
    pub errors: Vec<String>,
}

/// Calls `body` with handles that stand for `dataset` in this thread until it returns.
///
/// Sessions may be nested; the innermost answers.
pub fn with_dataset<R>(dataset: &Dataset, body: impl FnOnce(Handles) -> R) -> (R, Outcome) {
    let _ = (dataset, body);
    std::process::abort()
}

/// Calls `body` with the numbers of a file and a variable that stand for `variable` in this thread until it
/// returns.
pub fn with_variable<R>(variable: &Variable, body: impl FnOnce(i32, i32) -> R) -> R {
    let _ = (variable, body);
    std::process::abort()
}

/// Takes the messages that plugins pushed on the error stack of this thread outside of
/// [`with_dataset`], such as in a filter call; oldest first.
pub fn take_errors() -> Vec<String> {
    Vec::new()
}
