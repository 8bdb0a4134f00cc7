//! The summary of a copy: as text for people, as JSON for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ncz::copy::{CopySummary, UnreadableVariable, VariableSummary, Verified};
use ncz::location::Location;
use ncz::model::{Container, Format};
use ncz::registry::spec::{ChainSpec, StageSpec};
use ncz::registry::{Registry, known};
use serde::Serialize;

use crate::codec_words::{chain_words, stages_words};
use crate::dataset::format_words;
use crate::output::{Cell, Style, Table, abbreviated, bytes, count, ratio, seconds, speed};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;
/// Maximum number of variables in the table; the rest is counted.
const ROWS: usize = 40;

/// The summary of a copy.
pub(super) struct Summary<'a> {
    source: &'a Location,
    target: &'a Location,
    /// The format of the target.
    format: Format,
    copied: &'a CopySummary,
    registry: Arc<Registry>,
    threads: usize,
    verified: bool,
    /// The format of the source.
    source_format: Format,
    notes: &'a [String],
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        (source, target): (&'a Location, &'a Location),
        format: Format,
        dataset: &dyn Container,
        copied: &'a CopySummary,
        verified: bool,
        notes: &'a [String],
    ) -> Self {
        let session = dataset.session();
        let (registry, threads) = (Arc::clone(&session.registry), session.pool.threads());
        let source_format = dataset.hierarchy().format;
        Self { source, target, format, copied, registry, threads, verified, source_format, notes }
    }

    /// The summary of a copy in parts, which says nothing of the source.
    pub(super) fn of_parts(
        (source, target): (&'a Location, &'a Location),
        format: Format,
        (registry, threads): (Arc<Registry>, usize),
        copied: &'a CopySummary,
        verified: bool,
        notes: &'a [String],
    ) -> Self {
        Self { source, target, format, copied, registry, threads, verified, source_format: format, notes }
    }

    pub(super) fn to_text(&self, style: Style) -> String {
        let variables = &self.copied.variables;
        let mut table =
            Table::new(&["variable", "codecs", ">chunks", ">decoded", ">before", ">now", ">ratio"]);
        for variable in variables.iter().take(ROWS) {
            let mut chain = words(&variable.chain, variable.element, &self.registry);
            if variable.unchanged && variable.recoded == 0 {
                chain.push_str(" (unchanged)");
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
        for note in self.passed() {
            text.push_str(&format!("{note}\n"));
        }
        let before = self.before().map_or_else(String::new, |before| format!(", {} before", bytes(before)));
        let becomes = match self.format == self.source_format {
            true => String::new(),
            false => format!("{}, ", format_words(self.format)),
        };
        text.push_str(&format!(
            "{}: {becomes}{} decoded, {} stored{before} ({}); {} in {} at {} with {}{}\n",
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

    /// Returns how many chunks of a netCDF file were copied as they are, and why others were not.
    fn passed(&self) -> Vec<String> {
        if !self.source_format.is_netcdf() {
            return Vec::new();
        }
        let variables = &self.copied.variables;
        let recoded: u64 = variables.iter().map(|variable| variable.recoded).sum();
        let passed = self.chunks().saturating_sub(recoded);
        let mut lines =
            vec![format!("{} copied as stored, {recoded} decoded and encoded", count(passed, "chunk"))];
        let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for variable in variables {
            if let Some(reason) = variable.recoding.filter(|_| variable.recoded > 0) {
                let text = format!("{} of {}", variable.recoded, variable.path);
                reasons.entry(reason.to_string()).or_default().push(text);
            }
        }
        lines.extend(reasons.iter().map(|(reason, paths)| format!("  {reason}: {}", abbreviated(paths))));
        lines
    }

    fn verified_words(&self) -> String {
        let variables = &self.copied.variables;
        let has_lost = variables.iter().any(|variable| !variable.lost.is_empty());
        let is_repeated =
            |variable: &&VariableSummary| matches!(variable.verified, Some(Verified::Repeated { .. }));
        match variables.iter().filter(is_repeated).count() {
            0 if has_lost => "; verified: every value that could be read is the same".to_owned(),
            0 => "; verified: every value is the same".to_owned(),
            differ => format!(
                "; verified: values of {differ} of {} differ from the source exactly as the lossy codecs change them; \
                 everything else is the same",
                count(variables.len() as u64, "variable"),
            ),
        }
    }

    pub(super) fn to_json(&self) -> impl Serialize {
        let unreadable = self.copied.unreadable.iter();
        SummaryJson {
            schema: SCHEMA,
            source: self.source.to_string(),
            target: self.target.to_string(),
            format: format_words(self.format),
            verified: self.verified,
            seconds: self.elapsed().as_secs_f64(),
            threads: self.threads,
            chunks: self.chunks(),
            decoded_bytes: self.decoded(),
            stored_bytes_before: self.before(),
            stored_bytes: self.after(),
            notes: self.notes,
            variables: self.copied.variables.iter().map(VariableJson::new).collect(),
            unreadable: unreadable.map(UnreadableJson::new).collect(),
        }
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

    /// Returns the stored bytes of the source if they are known for every variable.
    fn before(&self) -> Option<u64> {
        self.copied.variables.iter().map(|variable| variable.before).sum()
    }
}

/// The JSON form.
#[derive(Serialize)]
struct SummaryJson<'a> {
    schema: u32,
    source: String,
    target: String,
    format: &'static str,
    verified: bool,
    seconds: f64,
    threads: usize,
    chunks: u64,
    decoded_bytes: u64,
    stored_bytes_before: Option<u64>,
    stored_bytes: u64,
    notes: &'a [String],
    variables: Vec<VariableJson<'a>>,
    unreadable: Vec<UnreadableJson<'a>>,
}

#[derive(Serialize)]
struct VariableJson<'a> {
    path: &'a str,
    filters: &'a str,
    lossy: &'a [String],
    encoded_again: u64,
    unchanged: bool,
    chunks: u64,
    lost_chunks: usize,
    recoded_chunks: u64,
    recoded_because: Option<String>,
    decoded_bytes: u64,
    stored_bytes_before: Option<u64>,
    stored_bytes: u64,
    verified: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct UnreadableJson<'a> {
    path: &'a str,
    reason: &'a str,
}

impl<'a> UnreadableJson<'a> {
    pub(super) fn new(lost: &'a UnreadableVariable) -> Self {
        Self { path: &lost.path, reason: &lost.reason }
    }
}

impl<'a> VariableJson<'a> {
    fn new(variable: &'a VariableSummary) -> Self {
        Self {
            path: &variable.path,
            filters: &variable.chain,
            lossy: &variable.lossy,
            encoded_again: variable.encoded_again,
            unchanged: variable.unchanged,
            chunks: variable.chunks,
            lost_chunks: variable.lost.len(),
            recoded_chunks: variable.recoded,
            recoded_because: variable
                .recoding
                .filter(|_| variable.recoded > 0)
                .map(|reason| reason.to_string()),
            decoded_bytes: variable.decoded,
            stored_bytes_before: variable.before,
            stored_bytes: variable.after,
            verified: variable.verified.map(|verified| match verified {
                Verified::Same => "same",
                Verified::Repeated { .. } => "repeated",
            }),
        }
    }
}

/// Returns the note on values that can have changed.
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
            "{} {are}: values of {} can differ from those of the source",
            codecs.join(", "),
            paths.join(", ")
        )
    })
}

/// Returns the note on records that an append encoded again with lossy codecs.
pub(super) fn encoded_again(variables: &[VariableSummary]) -> Option<String> {
    let mut again = variables.iter().filter(|variable| variable.encoded_again > 0);
    let first = again.next()?;
    let others = match again.count() {
        0 => String::new(),
        others => format!(" (and of {})", count(others as u64, "other variable")),
    };
    Some(format!(
        "encoded again with {}, because new records share their chunks: {} of {}{others} in the target; the values can \
         have changed; append whole chunks to prevent this",
        first.lossy.join(", "),
        count(first.encoded_again, "record"),
        first.path
    ))
}

/// Returns a chain in words. A filter that only the registry knows has its name there.
fn words(chain: &str, element: usize, registry: &Registry) -> String {
    let Ok(spec) = ChainSpec::parse(chain) else { return chain_words(chain, element) };
    let named = |stage: &StageSpec| match stage {
        StageSpec::Filter { id, params } if known::by_id(*id).is_none() => match registry.by_id(*id) {
            Ok(entry) => StageSpec::Named { name: entry.info().name.to_string(), params: params.clone() },
            Err(_) => stage.clone(),
        },
        stage => stage.clone(),
    };
    stages_words(&spec.stages().iter().map(named).collect::<Vec<_>>(), element)
}
