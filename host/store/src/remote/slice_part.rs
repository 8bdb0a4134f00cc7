//! The part of an object that fills a caller's slice.

#[cfg(feature = "s3")]
use std::ops::Range;

#[cfg(feature = "s3")]
use crate::store::ReadRange;

/// The bytes of an object that a caller's slice is to be filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SlicePart {
    /// From this offset on.
    From(u64),
    /// The last bytes.
    End,
}

#[cfg(feature = "s3")]
impl SlicePart {
    /// The range to ask for.
    pub(crate) fn range(self, len: u64) -> ReadRange {
        match self {
            Self::From(offset) => ReadRange::Bounded { offset, len },
            Self::End => ReadRange::Suffix(len),
        }
    }

    /// The bytes of an object of `object_len` bytes that a slice of `len` bytes takes.
    pub(crate) fn of(self, object_len: u64, len: u64) -> Range<u64> {
        match self {
            Self::From(offset) => offset..object_len.min(offset.saturating_add(len)).max(offset),
            Self::End => object_len.saturating_sub(len)..object_len,
        }
    }
}
