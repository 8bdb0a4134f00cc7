//! What a host makes of the library.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
