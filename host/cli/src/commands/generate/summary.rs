//! The summary of `ncz gen`: as text for people, as JSON for programs.

use ncz::generate::GenerateSummary;
use ncz::location::Location;
use ncz::model::Format;
use serde::Serialize;

use crate::dataset::format_words;
use crate::output::{Cell, Style, Table, bytes, count, ratio, seconds, speed};

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;
/// Maximum number of variables in the table; the rest is counted.
const ROWS: usize = 40;

/// The summary of a generated dataset.
pub(super) struct Summary<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a Location,
    pub(super) format: Format,
    pub(super) generated: &'a GenerateSummary,
    pub(super) notes: &'a [String],
}

impl Summary<'_> {
    pub(super) fn to_text(&self, style: Style) -> String {
        let variables = &self.generated.variables;
        let mut table = Table::new(&["variable", "codecs", ">chunks", ">decoded", ">stored", ">ratio"]);
        for variable in variables.iter().take(ROWS) {
            let chain = if variable.chain.is_empty() { "-" } else { &variable.chain };
            table.row([
                Cell::painted(&variable.path, Style::bold),
                chain.to_owned().into(),
                variable.chunks.to_string().into(),
                bytes(variable.decoded).into(),
                bytes(variable.stored).into(),
                ratio(variable.decoded, variable.stored).into(),
            ]);
        }
        let mut text = if variables.is_empty() { String::new() } else { table.render(style, "") };
        if variables.len() > ROWS {
            text.push_str(&format!("... and {}\n", count((variables.len() - ROWS) as u64, "more variable")));
        }
        let elapsed = self.generated.elapsed;
        text.push_str(&format!(
            "{}: {}, {} decoded, {} stored; {} in {} at {}\n",
            style.bold(&self.target.to_string()),
            format_words(self.format),
            bytes(self.decoded()),
            bytes(self.stored()),
            count(self.chunks(), "chunk"),
            seconds(elapsed),
            speed(self.decoded(), elapsed),
        ));
        text
    }

    pub(super) fn to_json(&self) -> impl Serialize {
        let variables = self.generated.variables.iter().map(|variable| VariableJson {
            path: &variable.path,
            codecs: &variable.chain,
            chunks: variable.chunks,
            decoded_bytes: variable.decoded,
            stored_bytes: variable.stored,
        });
        SummaryJson {
            schema: SCHEMA,
            source: self.source,
            target: self.target.to_string(),
            name: &self.generated.name,
            format: format_words(self.format),
            variables: variables.collect(),
            chunks: self.chunks(),
            decoded_bytes: self.decoded(),
            stored_bytes: self.stored(),
            seconds: self.generated.elapsed.as_secs_f64(),
            notes: self.notes,
        }
    }

    fn decoded(&self) -> u64 {
        self.generated.variables.iter().map(|variable| variable.decoded).sum()
    }

    fn stored(&self) -> u64 {
        self.generated.variables.iter().map(|variable| variable.stored).sum()
    }

    fn chunks(&self) -> u64 {
        self.generated.variables.iter().map(|variable| variable.chunks).sum()
    }
}

/// The JSON form.
#[derive(Serialize)]
struct SummaryJson<'a> {
    schema: u32,
    source: &'a str,
    target: String,
    name: &'a str,
    format: &'static str,
    variables: Vec<VariableJson<'a>>,
    chunks: u64,
    decoded_bytes: u64,
    stored_bytes: u64,
    seconds: f64,
    notes: &'a [String],
}

#[derive(Serialize)]
struct VariableJson<'a> {
    path: &'a str,
    codecs: &'a str,
    chunks: u64,
    decoded_bytes: u64,
    stored_bytes: u64,
}
