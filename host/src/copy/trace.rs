//! Tracing events of a copy, with the target `ncz`.

use std::time::Duration;

use tracing::info;

use super::VariableSummary;

/// A variable was copied.
pub(crate) fn copied(summary: &VariableSummary, took: Duration) {
    let VariableSummary { path, chain, unchanged, decoded, after, chunks, .. } = summary;
    info!(target: "ncz", variable = ?path, chain, unchanged, chunks, decoded, stored = after, ?took, "variable copied");
}
