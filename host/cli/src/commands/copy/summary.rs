//! What a copy did, for people and as JSON.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ncz::copy::{CopySummary, LeftOut, VariableSummary, Verified};
use ncz::nczarr::Dataset;
use ncz::place::Location;
use ncz::registry::Registry;
use serde_json::{Value, json};

use crate::output::{Cell, Style, Table, bytes, count, ratio, seconds, speed};

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;
/// Variables in the table at most; the rest is summed up.
const ROWS: usize = 40;

/// What a copy did.
pub(super) struct Summary<'a> {
    source: &'a Location,
    target: &'a Location,
    copied: &'a CopySummary,
    registry: Arc<Registry>,
    threads: usize,
    verified: bool,
    notes: &'a [String],
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        source: &'a Location,
        target: &'a Location,
        dataset: &Dataset,
        copied: &'a CopySummary,
        verified: bool,
        notes: &'a [String],
    ) -> Self {
        let session = dataset.session();
        let (registry, threads) = (Arc::clone(&session.registry), session.pool.threads());
        Self { source, target, copied, registry, threads, verified, notes }
    }

    pub(super) fn to_text(&self, style: Style) -> String {
        let variables = &self.copied.variables;
        let mut table =
            Table::new(&["variable", "codecs", ">chunks", ">decoded", ">before", ">now", ">ratio"]);
        for variable in variables.iter().take(ROWS) {
            let mut chain = named(&variable.chain, &self.registry);
            if variable.unchanged {
                chain.push_str(" (as it was)");
            }
            table.row([
                Cell::painted(&variable.path, Style::bold),
                chain.into(),
                variable.chunks.to_string().into(),
                bytes(variable.decoded).into(),
                variable.before.map_or_else(|| "?".to_owned(), bytes).into(),
                bytes(variable.after).into(),
                ratio(variable.decoded, variable.after).into(),
            ]);
        }
        let mut text = table.render(style, "");
        if variables.len() > ROWS {
            text.push_str(&format!("... and {}\n", count((variables.len() - ROWS) as u64, "more variable")));
        }
        let before = self.before().map_or_else(String::new, |before| format!(", {} before", bytes(before)));
        text.push_str(&format!(
            "{}: {} decoded, {} stored{before} ({}); {} in {} at {} with {}{}\n",
            style.bold(&self.target.to_string()),
            bytes(self.decoded()),
            bytes(self.after()),
            ratio(self.decoded(), self.after()),
            count(self.chunks(), "chunk"),
            seconds(self.elapsed()),
            speed(self.decoded(), self.elapsed()),
            count(self.threads as u64, "thread"),
            if self.verified { style.good(&self.verified_words()) } else { String::new() },
        ));
        text
    }

    fn verified_words(&self) -> String {
        let variables = &self.copied.variables;
        let is_repeated =
            |variable: &&VariableSummary| matches!(variable.verified, Some(Verified::Repeated { .. }));
        match variables.iter().filter(is_repeated).count() {
            0 => "; verified: every value is the same".to_owned(),
            differ => format!(
                "; verified: values of {differ} of {} differ from the source, as the lossy codecs make them once more; all \
                 else is the same",
                count(variables.len() as u64, "variable"),
            ),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let variables: Vec<Value> = self
            .copied
            .variables
            .iter()
            .map(|variable| {
                json!({
                    "path": variable.path,
                    "filters": variable.chain,
                    "lossy": variable.lossy,
                    "encoded_again": variable.encoded_again,
                    "unchanged": variable.unchanged,
                    "chunks": variable.chunks,
                    "decoded_bytes": variable.decoded,
                    "stored_bytes_before": variable.before,
                    "stored_bytes": variable.after,
                    "verified": variable.verified.map(|verified| match verified {
                        Verified::Same => "same",
                        Verified::Repeated { .. } => "repeated",
                    }),
                })
            })
            .collect();
        let unreadable: Vec<Value> = self
            .copied
            .unreadable
            .iter()
            .map(|lost| json!({"path": lost.path, "reason": lost.reason}))
            .collect();
        json!({
            "schema": SCHEMA,
            "source": self.source.to_string(),
            "target": self.target.to_string(),
            "verified": self.verified,
            "seconds": self.elapsed().as_secs_f64(),
            "threads": self.threads,
            "chunks": self.chunks(),
            "decoded_bytes": self.decoded(),
            "stored_bytes_before": self.before(),
            "stored_bytes": self.after(),
            "notes": self.notes,
            "variables": variables,
            "unreadable": unreadable,
        })
    }

    fn elapsed(&self) -> Duration {
        self.copied.elapsed
    }

    fn decoded(&self) -> u64 {
        self.copied.variables.iter().map(|variable| variable.decoded).sum()
    }

    fn after(&self) -> u64 {
        self.copied.variables.iter().map(|variable| variable.after).sum()
    }

    fn chunks(&self) -> u64 {
        self.copied.variables.iter().map(|variable| variable.chunks).sum()
    }

    /// Known only if it is known of every variable.
    fn before(&self) -> Option<u64> {
        self.copied.variables.iter().map(|variable| variable.before).sum()
    }
}

/// What is said of values that may have changed.
pub(super) fn lossy(variables: &[VariableSummary]) -> Option<String> {
    const SHOWN: usize = 5;
    let changed: Vec<_> = variables.iter().filter(|variable| !variable.lossy.is_empty()).collect();
    let codecs: BTreeSet<&str> =
        changed.iter().flat_map(|variable| &variable.lossy).map(String::as_str).collect();
    let codecs: Vec<&str> = codecs.into_iter().collect();
    let mut paths: Vec<String> = changed.iter().take(SHOWN).map(|variable| variable.path.clone()).collect();
    if changed.len() > SHOWN {
        paths.push(format!("{} more", changed.len() - SHOWN));
    }
    let are = if let [_] = codecs.as_slice() { "is a lossy codec" } else { "are lossy codecs" };
    (!changed.is_empty()).then(|| {
        format!(
            "{} {are}: values of {} may differ from those of the source",
            codecs.join(", "),
            paths.join(", ")
        )
    })
}

/// What is said of records that an append put through lossy codecs again.
pub(super) fn encoded_again(variables: &[VariableSummary]) -> Option<String> {
    let mut again = variables.iter().filter(|variable| variable.encoded_again > 0);
    let first = again.next()?;
    let others = match again.count() {
        0 => String::new(),
        others => format!(" (and of {})", count(others as u64, "other variable")),
    };
    Some(format!(
        "{} of {}{others} that the target had went through {} once more, because new ones share their chunks, and may have \
         changed; append whole chunks to prevent it",
        count(first.encoded_again, "record"),
        first.path,
        first.lossy.join(", ")
    ))
}

/// What is said of things in the source that are no part of the dataset.
pub(crate) fn left_out(left_out: &LeftOut) -> Option<String> {
    const SHOWN: usize = 5;
    let more = left_out.keys.len().saturating_sub(SHOWN) as u64 + left_out.more;
    let mut text = left_out.keys.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    (!text.is_empty()).then(|| format!("not copied, since no metadata of the source lead there: {text}"))
}

/// Filter text with names in place of numbers: `zstd,3` for `32015,3`.
fn named(chain: &str, registry: &Registry) -> String {
    if chain.is_empty() {
        return "none".to_owned();
    }
    let stage = |text: &str| {
        let (id, params) = text.split_at(text.find(',').unwrap_or(text.len()));
        match id.parse().ok().and_then(|id| registry.by_id(id).ok()) {
            Some(entry) => format!("{}{params}", entry.info().name),
            None => text.to_owned(),
        }
    };
    chain.split('|').map(stage).collect::<Vec<_>>().join("|")
}
