//! What parameters and JSON do.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
