//! What a server turned out to be able to do.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What the answers of a server have taught. It only saves requests: whatever it says, each answer is checked.
#[derive(Debug, Default)]
pub(super) struct Learned {
    ranges: AtomicU8,
    no_suffixes: AtomicBool,
    no_head: AtomicBool,
    answered: AtomicBool,
}

const UNKNOWN: u8 = 0;
const RANGES: u8 = 1;
const NO_RANGES: u8 = 2;

impl Learned {
    /// Whether the server gives ranges, if that is known.
    pub(super) fn ranges(&self) -> Option<bool> {
        match self.ranges.load(Ordering::Relaxed) {
            UNKNOWN => None,
            learned => Some(learned == RANGES),
        }
    }

    /// A range has come.
    pub(super) fn has_ranges(&self) {
        self.ranges.store(RANGES, Ordering::Relaxed);
    }

    /// The server has said, or shown, that it has no ranges; that one came once counts more.
    pub(super) fn has_no_ranges(&self) {
        let _ = self.ranges.compare_exchange(UNKNOWN, NO_RANGES, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether to ask for the last bytes without knowing the length.
    pub(super) fn suffixes(&self) -> bool {
        !self.no_suffixes.load(Ordering::Relaxed)
    }

    /// The server does not understand "the last bytes".
    pub(super) fn has_no_suffixes(&self) {
        self.no_suffixes.store(true, Ordering::Relaxed);
    }

    /// Whether to ask for a length by HEAD.
    pub(super) fn head(&self) -> bool {
        !self.no_head.load(Ordering::Relaxed)
    }

    /// Whether the server has ever answered: then it is there, and may only be away for a moment.
    pub(super) fn answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// The server has answered.
    pub(super) fn has_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// HEAD is refused, or tells no length.
    pub(super) fn has_no_head(&self) {
        self.no_head.store(true, Ordering::Relaxed);
    }
}
