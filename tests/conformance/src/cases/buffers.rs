//! Who owns which memory, and how long it is.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
