//! All checks, group by group.

mod buffers;
mod damaged;
mod interop;
mod library;
mod pairing;
mod parameters;
mod records;
mod roundtrip;
mod speed;
mod threads;

use crate::check::Check;

/// The checks of all groups, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Check> {
    [
        library::CHECKS,
        records::CHECKS,
        roundtrip::CHECKS,
        buffers::CHECKS,
        parameters::CHECKS,
        damaged::CHECKS,
        threads::CHECKS,
        pairing::CHECKS,
        interop::CHECKS,
        speed::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// The check of that id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}
