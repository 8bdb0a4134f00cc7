//! Metadata of datasets that are far away: what opening and changing them costs in requests and round trips.

mod far;
mod hidden;
mod opening;
mod stale;
mod writing;
