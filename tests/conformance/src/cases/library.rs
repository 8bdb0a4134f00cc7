//! The file and how it loads.

use crate::check::{Check, Scope};
use crate::outcome::Ending;
use crate::trial::Trial;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[Check {
    id: "library.load",
    level: 1,
    scope: Scope::File,
    about: "opens with all its names resolved and to itself, and its entry functions answer",
    run: load,
}];

fn load(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("opening the library");
    trial.subject().map(|_| ())
}
