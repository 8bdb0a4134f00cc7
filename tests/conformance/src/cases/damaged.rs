//! Streams that are cut, changed or made up.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
