//! The header `Range` of a request.

use std::fmt;

/// The bytes that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// The whole object.
    All,
    /// From this offset on.
    From(u64),
    /// From the first to the last of these, both included.
    Closed(u64, u64),
    /// The last, this many.
    Suffix(u64),
}

impl fmt::Display for RequestedRange {
    /// The value of the header `Range`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::From(first) => write!(f, "bytes={first}-"),
            Self::Closed(first, last) => write!(f, "bytes={first}-{last}"),
            Self::Suffix(len) => write!(f, "bytes=-{len}"),
        }
    }
}
