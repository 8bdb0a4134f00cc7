//! What the remote stores (S3 and HTTP) share.
//!
//! A remote store keeps its settings and its client in a value that its requests share, and beside it an engine:
//! a runtime of its own, which starts with the first request and ends with the store, and a limiter that all its
//! requests pass. The callers' threads wait for their requests; `read_many` keeps many going for one thread.

mod attempts;
mod body;
mod content_range;
mod engine;
mod limiter;
mod options;
mod retry;
mod runtime;
mod slice_part;
mod throughput;

pub(crate) use attempts::describe_attempts;
pub(crate) use body::{Body, BodyError};
pub(crate) use content_range::ContentRange;
#[cfg(feature = "http")]
pub(crate) use content_range::number;
pub(crate) use engine::{Engine, Job};
#[cfg(feature = "http")]
pub(crate) use limiter::Permit;
pub(crate) use limiter::{Limiter, ReadAhead, UNKNOWN_LEN_RESERVE};
pub use options::RemoteOptions;
pub(crate) use retry::{Failure, Retry, is_unreached};
pub(crate) use slice_part::SlicePart;
pub(crate) use throughput::ThroughputGuard;
