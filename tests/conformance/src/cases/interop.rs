//! Streams that other programs wrote.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
