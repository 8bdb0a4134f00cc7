//! Metadata of datasets that are far away: what opening and changing them costs in requests and round trips.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod far;
mod hidden;
mod opening;
mod stale;
mod writing;
