//! The features of a server, as far as its responses have shown them.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The features of a server, as far as its responses have shown them. They only save requests: each response is checked
/// whatever they say.
#[derive(Debug, Default)]
pub(super) struct ServerFeatures {
    ranges: AtomicU8,
    no_suffixes: AtomicBool,
    no_head: AtomicBool,
    answered: AtomicBool,
}

const UNKNOWN: u8 = 0;
const RANGES: u8 = 1;
const NO_RANGES: u8 = 2;

impl ServerFeatures {
    /// Whether the server supports byte ranges, if that is known.
    pub(super) fn ranges(&self) -> Option<bool> {
        match self.ranges.load(Ordering::Relaxed) {
            UNKNOWN => None,
            known => Some(known == RANGES),
        }
    }

    /// Notes that the server answered with a range.
    pub(super) fn note_ranges(&self) {
        self.ranges.store(RANGES, Ordering::Relaxed);
    }

    /// Notes that the server says, or shows, that it does not support ranges. A range that came before takes precedence.
    pub(super) fn note_no_ranges(&self) {
        let _ = self.ranges.compare_exchange(UNKNOWN, NO_RANGES, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether the server may support suffix ranges (`bytes=-N`).
    pub(super) fn may_support_suffixes(&self) -> bool {
        !self.no_suffixes.load(Ordering::Relaxed)
    }

    /// Notes that the server does not support suffix ranges.
    pub(super) fn note_no_suffixes(&self) {
        self.no_suffixes.store(true, Ordering::Relaxed);
    }

    /// Whether the server may support HEAD.
    pub(super) fn may_support_head(&self) -> bool {
        !self.no_head.load(Ordering::Relaxed)
    }

    /// Whether the server has ever answered. If so, a later failure to connect is probably temporary.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Notes that the server has answered.
    pub(super) fn note_answer(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Notes that the server refuses HEAD, or answers it without a length.
    pub(super) fn note_no_head(&self) {
        self.no_head.store(true, Ordering::Relaxed);
    }
}
