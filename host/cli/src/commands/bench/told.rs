//! What was measured, for people and for programs.

use ncz::bench::{BenchReport, Trial, WORTH};
use serde_json::{Value, json};

use super::names::{command, short};
use crate::output::{Cell, Style, Table, bytes, count, seconds, shape};
use crate::secrets;

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// A report about a variable of a dataset.
pub(super) struct Told<'a> {
    pub(super) dataset: &'a str,
    pub(super) report: &'a BenchReport,
}

/// A chain to recommend.
pub(super) struct Choice<'a> {
    pub(super) what: &'static str,
    pub(super) trial: &'a Trial,
    /// `None`: the variable has the chain already.
    pub(super) command: Option<String>,
}

impl<'a> Told<'a> {
    pub(super) fn new(dataset: &'a str, report: &'a BenchReport) -> Self {
        Self { dataset, report }
    }

    /// What to recommend.
    pub(super) fn choices(&self) -> Vec<Choice<'a>> {
        let report = self.report;
        let choices = [
            ("best ratio", report.best_ratio()),
            ("fastest decoding", report.fastest_decode()),
            ("balanced", report.balanced()),
        ];
        let choice = |(what, trial): (&'static str, Option<&'a Trial>)| {
            let trial = trial?;
            let command = (!trial.present).then(|| command(self.dataset, &report.path, &trial.chain));
            Some(Choice { what, trial, command })
        };
        choices.into_iter().filter_map(choice).collect()
    }

    /// What is said where no chain is worth it.
    pub(super) fn no_choice(&self) -> Option<String> {
        let reader = self.report.reader.name();
        self.report.recommendable().is_empty().then(|| {
            format!(
                "no codec helps: none that {reader} reads makes the sample at least {WORTH} times smaller"
            )
        })
    }

    /// What the chains were tried on.
    pub(super) fn sample(&self) -> String {
        let sample = &self.report.sample;
        let chunks = match &sample.cut {
            None => count(sample.chunks, "chunk"),
            Some(cut) => format!("{} (cut to {})", count(sample.chunks, "piece"), shape(cut)),
        };
        let all = sample
            .existing
            .map_or_else(String::new, |all| format!("; {} of the variable exist", count(all, "object")));
        format!(
            "{chunks} of {} each, {} together{all}; {}, {}",
            bytes(sample.bytes / sample.chunks.max(1)),
            bytes(sample.bytes),
            count(self.report.threads as u64, "thread"),
            seconds(self.report.elapsed),
        )
    }

    pub(super) fn to_text(&self, style: Style, verbose: bool) -> String {
        let report = self.report;
        let mut text = format!("{}  {}\n", style.bold(&report.path), style.dim(&self.sample()));
        let mut table = Table::new(&[">ratio", ">encode", ">decode", "front", "chain"]);
        for trial in &report.trials {
            let paint = if trial.encode_front || trial.decode_front { Style::bold } else { plain };
            table.row([
                Cell::painted(format!("{:.2}x", trial.ratio(&report.sample)), paint),
                Cell::new(megabytes(trial.encode)),
                Cell::new(megabytes(trial.decode)),
                Cell::new(front_words(trial)),
                Cell::painted(named(trial, "  "), paint),
            ]);
        }
        text.push_str(&table.render(style, "  "));
        for choice in self.choices() {
            text.push_str(&format!("{}: {}\n", style.good(choice.what), named(choice.trial, "  ")));
            if let Some(command) = choice.command {
                text.push_str(&format!("  {command}\n"));
            }
        }
        text.extend(self.no_choice().map(|none| format!("{none}\n")));
        for fault in &report.faulty {
            text.push_str(&format!("{}: {}: {}\n", style.bad("faulty"), fault.chain, fault.reason));
        }
        match report.left_out.len() {
            0 => {}
            many if !verbose => {
                text.push_str(
                    &style
                        .dim(&format!("{} not tried; -v says which and why\n", count(many as u64, "chain"))),
                );
            }
            _ => {
                for left in &report.left_out {
                    text.push_str(&format!("{}: {}: {}\n", style.dim("not tried"), left.chain, left.reason));
                }
            }
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let report = self.report;
        let sample = &report.sample;
        let trials: Vec<Value> = report
            .trials
            .iter()
            .map(|trial| {
                json!({
                    "chain": trial.chain,
                    "name": short(&trial.chain),
                    "present": trial.present,
                    "unread": trial.unread.map(|unread| unread.to_string()),
                    "stored": trial.stored,
                    "ratio": trial.ratio(sample),
                    "encode_bytes_per_second": trial.encode,
                    "decode_bytes_per_second": trial.decode,
                    "runs": trial.runs,
                    "encode_front": trial.encode_front,
                    "decode_front": trial.decode_front,
                })
            })
            .collect();
        let choices: Vec<Value> = self
            .choices()
            .iter()
            .map(
                |choice| json!({"what": choice.what, "chain": choice.trial.chain, "command": choice.command}),
            )
            .collect();
        let faulty: Vec<Value> =
            report.faulty.iter().map(|one| json!({"chain": one.chain, "reason": one.reason})).collect();
        let left_out: Vec<Value> =
            report.left_out.iter().map(|one| json!({"chain": one.chain, "reason": one.reason})).collect();
        json!({
            "schema": SCHEMA,
            "dataset": secrets::hide(self.dataset),
            "variable": report.path,
            "reader": report.reader.name(),
            "sample": {
                "chunks": sample.chunks,
                "bytes": sample.bytes,
                "chunk_bytes": sample.chunk_len,
                "existing_objects": sample.existing,
                "cut": sample.cut,
            },
            "threads": report.threads,
            "seconds": report.elapsed.as_secs_f64(),
            "chains": trials,
            "choices": choices,
            "faulty": faulty,
            "left_out": left_out,
        })
    }
}

/// A chain in few words, with what is to be said of it behind a gap.
pub(super) fn named(trial: &Trial, gap: &str) -> String {
    let remarks: Vec<String> = (trial.present.then(|| "as it is".to_owned()).into_iter())
        .chain(trial.unread.map(|unread| unread.to_string()))
        .collect();
    let name = short(&trial.chain);
    if remarks.is_empty() { name } else { format!("{name}{gap}({})", remarks.join("; ")) }
}

/// Which fronts a chain is on.
pub(super) fn front_words(trial: &Trial) -> &'static str {
    match (trial.encode_front, trial.decode_front) {
        (true, true) => "both",
        (true, false) => "encode",
        (false, true) => "decode",
        (false, false) => "",
    }
}

/// A speed for people.
pub(super) fn megabytes(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e6 {
        slow if slow < 10.0 => format!("{slow:.1} MB/s"),
        fast => format!("{fast:.0} MB/s"),
    }
}

fn plain(_: Style, text: &str) -> String {
    text.to_owned()
}
