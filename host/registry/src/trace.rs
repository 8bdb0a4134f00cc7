//! Events of the target `ncz_registry`: what was searched and chosen. Texts are made only if a subscriber listens.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::{Level, debug, enabled, info};

use crate::entry::{CodecOrigin, Entry, Other};
use crate::pair::Prefer;
use crate::report::Report;

/// The search for plugins is over: what it found at info, each folder and file at debug.
pub(crate) fn searched(report: &Report, took: Duration) {
    report.notes.iter().for_each(|note| info!(target: "ncz_registry", "{note}"));
    for folder in &report.folders {
        debug!(
            target: "ncz_registry", path = ?folder.folder.path, named_by = folder.folder.origin.word(),
            state = %folder.state, files = folder.files.len(), "folder of plugins"
        );
        for file in &folder.files {
            debug!(
                target: "ncz_registry", path = ?file.path, verdict = %file.verdict, reason = file.reason,
                took = ?file.load_time.unwrap_or_default(), "file in it"
            );
        }
    }
    let libraries = report.files().filter(|file| file.load_time.is_some()).count();
    info!(
        target: "ncz_registry", folders = report.folders.len(), files = report.files().count(), libraries,
        codecs = report.codecs.len(), ?took, "searched for plugins"
    );
}

/// Logs that a codec is returned, once: at info if there was a choice or a plugin, else at debug.
pub(crate) fn chosen(entry: &Entry, prefer: Prefer) {
    if !enabled!(target: "ncz_registry", Level::INFO) || entry.traced.swap(true, Ordering::Relaxed) {
        return;
    }
    let (name, id, from) = (&*entry.info().name, entry.info().filter_id, entry.origin());
    if !entry.others().is_empty() {
        let (passed_over, order) = (Others(entry.others()), order(prefer));
        info!(target: "ncz_registry", codec = name, id, %from, %passed_over, order, "codec chosen");
    } else if *from == CodecOrigin::Builtin {
        debug!(target: "ncz_registry", codec = name, id, %from, "codec chosen");
    } else {
        info!(target: "ncz_registry", codec = name, id, %from, "codec chosen: no other");
    }
}

/// The preference.
fn order(prefer: Prefer) -> &'static str {
    match prefer {
        Prefer::Builtins => "an explicit path, built-in, HDF5_PLUGIN_PATH, default folders",
        Prefer::Plugins => "an explicit path, HDF5_PLUGIN_PATH, built-in, default folders",
    }
}

/// Candidates that are not used, each with the reason.
struct Others<'a>(&'a [Other]);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, other) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {}", other.origin, other.state)?;
        }
        Ok(())
    }
}
