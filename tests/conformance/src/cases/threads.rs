//! Calls from several threads at a time.

use crate::check::Check;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[];
