//! The records that the entry functions give.

use crate::check::{Check, Scope};
use crate::outcome::Ending;
use crate::trial::Trial;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[Check {
    id: "records.hdf5",
    level: 1,
    scope: Scope::Library,
    about: "its plugin type is that of filters, its record there, of version 1, with a filter function",
    run: hdf5,
}];

fn hdf5(trial: &mut Trial) -> Result<(), Ending> {
    match &trial.subject()?.hdf5 {
        None => Err(Ending::skipped("the library exports no HDF5 filter")),
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(Ending::failed(error.to_string())),
    }
}
