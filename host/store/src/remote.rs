//! What stores behind a network share.
//!
//! A remote store keeps its settings and its client in a value that its requests share, and beside it an engine:
//! a runtime of its own, which starts with the first request and ends with the store, and a limiter that all its
//! requests pass. The callers' threads wait for their requests; `read_many` keeps many going for one thread.

#[cfg(any(feature = "http", feature = "s3"))]
mod body;
#[cfg(any(feature = "http", feature = "s3"))]
mod content_range;
#[cfg(any(feature = "http", feature = "s3"))]
mod engine;
#[cfg(any(feature = "http", feature = "s3"))]
mod limiter;
mod options;
#[cfg(any(feature = "http", feature = "s3"))]
mod pace;
#[cfg(any(feature = "http", feature = "s3"))]
mod retry;
#[cfg(any(feature = "http", feature = "s3"))]
mod runtime;
#[cfg(any(feature = "http", feature = "s3"))]
mod tries;

#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use body::{Body, BodyFault};
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use content_range::ContentRange;
#[cfg(feature = "http")]
pub(crate) use content_range::number;
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use engine::{Engine, Job};
#[cfg(feature = "http")]
pub(crate) use limiter::Turn;
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use limiter::{Limiter, ROOM_OF_UNKNOWN, Window};
pub use options::RemoteOptions;
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use pace::Pace;
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use retry::{Failure, Retry, is_unreached};
#[cfg(any(feature = "http", feature = "s3"))]
pub(crate) use tries::tried;
