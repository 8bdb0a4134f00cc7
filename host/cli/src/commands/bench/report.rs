//! The report of `ncz bench`: as text for people, as JSON for programs.

use ncz::bench::{BenchReport, Rank, Trial, WORTH};
use serde::Serialize;

use super::names::Ends;
use crate::codec_words::chain_words;
use crate::output::{Cell, Style, Table, bytes, count, seconds, shape};
use crate::secrets;

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
pub(super) const SCHEMA: u32 = 1;

/// What was measured on a variable of a dataset.
pub(super) struct Report<'a> {
    pub(super) ends: Ends<'a>,
    pub(super) measured: &'a BenchReport,
    rank: Rank,
}

/// A chain to recommend.
pub(super) struct Choice<'a> {
    pub(super) what: &'static str,
    pub(super) trial: &'a Trial,
    /// `None` if the variable has the chain already.
    pub(super) command: Option<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(ends: Ends<'a>, measured: &'a BenchReport, rank: Rank) -> Self {
        Self { ends, measured, rank }
    }

    /// Returns the answer in words.
    pub(super) fn answer(&self) -> String {
        let measured = self.measured;
        let name = measured.path.trim_start_matches('/');
        let Some(choice) = measured.choice(self.rank) else {
            return match self.no_choice() {
                Some(none) => format!("Keep the codecs of {name}: {none}"),
                None => format!("Keep the codecs of {name}"),
            };
        };
        let now = measured.trials.iter().find(|trial| trial.present);
        let figures = |trial: &Trial| {
            format!(
                "{:.2}x smaller than without codecs, decoded at {}",
                trial.ratio(&measured.sample),
                megabytes(trial.decode)
            )
        };
        let by = by(self.rank);
        let words = |trial: &Trial| chain_words(&trial.chain, measured.element);
        match now {
            _ if choice.present => {
                format!("Keep {} for {name}: it is the best {by} ({})", words(choice), figures(choice))
            }
            Some(now) => format!(
                "Store {name} with {}: {}; now, with {}, {}",
                words(choice),
                figures(choice),
                words(now),
                figures(now)
            ),
            None => format!("Store {name} with {}: {}", words(choice), figures(choice)),
        }
    }

    /// Returns the recommended chains.
    pub(super) fn choices(&self) -> Vec<Choice<'a>> {
        let measured = self.measured;
        let choices = [
            ("best ratio", measured.best_ratio()),
            ("fastest decoding", measured.fastest_decode()),
            ("balanced", measured.balanced()),
        ];
        let choice = |(what, trial): (&'static str, Option<&'a Trial>)| {
            let trial = trial?;
            let command = (!trial.present)
                .then(|| self.ends.command([(vec![measured.path.as_str()], trial.chain.as_str())]));
            Some(Choice { what, trial, command })
        };
        choices.into_iter().filter_map(choice).collect()
    }

    /// Returns the text if no chain is worth it.
    pub(super) fn no_choice(&self) -> Option<String> {
        let reader = self.measured.reader.name();
        self.measured.recommendable().is_empty().then(|| {
            format!(
                "no codec helps: none that {reader} can read makes the sample at least {WORTH} times smaller"
            )
        })
    }

    /// Describes the sample.
    pub(super) fn sample(&self) -> String {
        let sample = &self.measured.sample;
        let chunks = match &sample.cut {
            None => count(sample.chunks, "chunk"),
            Some(cut) => format!("{} (cut to {})", count(sample.chunks, "piece"), shape(cut)),
        };
        let each = sample.cut.as_ref().map_or(sample.chunk_len, |_| sample.bytes / sample.chunks.max(1));
        let all = sample
            .existing
            .map_or_else(String::new, |all| format!("; the variable has {}", count(all, "object")));
        format!(
            "{chunks} of {} each, {} in total{all}; {}, {}",
            bytes(each),
            bytes(sample.bytes),
            count(self.measured.threads as u64, "thread"),
            seconds(self.measured.elapsed),
        )
    }

    pub(super) fn to_text(&self, style: Style, verbose: bool) -> String {
        let measured = self.measured;
        let mut text = format!("{}\n", style.bold(&self.answer()));
        text.push_str(&format!("{}  {}\n", style.bold(&measured.path), style.dim(&self.sample())));
        let mut table = Table::new(&[">ratio", ">encode", ">decode", "front", "chain"]);
        for trial in &measured.trials {
            let paint = if trial.encode_front || trial.decode_front { Style::bold } else { plain };
            table.row([
                Cell::painted(format!("{:.2}x", trial.ratio(&measured.sample)), paint),
                Cell::new(megabytes(trial.encode)),
                Cell::new(megabytes(trial.decode)),
                Cell::new(front_words(trial)),
                Cell::painted(named(measured, trial, "  "), paint),
            ]);
        }
        text.push_str(&table.render(style, "  "));
        for choice in self.choices() {
            text.push_str(&format!("{}: {}\n", style.good(choice.what), named(measured, choice.trial, "  ")));
            if let Some(command) = choice.command {
                text.push_str(&format!("  {command}\n"));
            }
        }
        text.extend(self.no_choice().map(|none| format!("{none}\n")));
        for fault in &measured.faulty {
            text.push_str(&format!("{}: {}: {}\n", style.bad("faulty"), fault.chain, fault.reason));
        }
        match measured.skipped.len() {
            0 => {}
            many if !verbose => {
                text.push_str(&style.dim(&format!(
                    "{} not tried; -v lists them with the reasons\n",
                    count(many as u64, "chain")
                )));
            }
            _ => {
                for left in &measured.skipped {
                    text.push_str(&format!("{}: {}: {}\n", style.dim("not tried"), left.chain, left.reason));
                }
            }
        }
        text
    }

    pub(super) fn to_json(&self) -> impl Serialize {
        let measured = self.measured;
        let sample = &measured.sample;
        let chain = |trial: &'a Trial| ChainJson {
            chain: &trial.chain,
            name: chain_words(&trial.chain, measured.element),
            present: trial.present,
            unread: trial.unread.map(|unread| unread.to_string()),
            stored: trial.stored,
            ratio: trial.ratio(sample),
            encode_bytes_per_second: trial.encode,
            decode_bytes_per_second: trial.decode,
            runs: trial.runs,
            encode_front: trial.encode_front,
            decode_front: trial.decode_front,
        };
        let choice = |choice: Choice<'a>| ChoiceJson {
            what: choice.what,
            chain: &choice.trial.chain,
            command: choice.command,
        };
        ReportJson {
            schema: SCHEMA,
            answer: self.answer(),
            dataset: secrets::hide(self.ends.dataset),
            variable: &measured.path,
            reader: measured.reader.name(),
            sample: SampleJson {
                chunks: sample.chunks,
                bytes: sample.bytes,
                chunk_bytes: sample.chunk_len,
                existing_objects: sample.existing,
                cut: sample.cut.as_deref(),
            },
            threads: measured.threads,
            seconds: measured.elapsed.as_secs_f64(),
            chains: measured.trials.iter().map(chain).collect(),
            choices: self.choices().into_iter().map(choice).collect(),
            faulty: measured
                .faulty
                .iter()
                .map(|of| Rejected { chain: &of.chain, reason: &of.reason })
                .collect(),
            left_out: measured
                .skipped
                .iter()
                .map(|of| Rejected { chain: &of.chain, reason: &of.reason })
                .collect(),
        }
    }
}

/// The JSON form.
#[derive(Serialize)]
struct ReportJson<'a> {
    schema: u32,
    answer: String,
    dataset: String,
    variable: &'a str,
    reader: &'static str,
    sample: SampleJson<'a>,
    threads: usize,
    seconds: f64,
    chains: Vec<ChainJson<'a>>,
    choices: Vec<ChoiceJson<'a>>,
    faulty: Vec<Rejected<'a>>,
    left_out: Vec<Rejected<'a>>,
}

#[derive(Serialize)]
struct SampleJson<'a> {
    chunks: u64,
    bytes: u64,
    chunk_bytes: u64,
    existing_objects: Option<u64>,
    cut: Option<&'a [u64]>,
}

#[derive(Serialize)]
struct ChainJson<'a> {
    chain: &'a str,
    name: String,
    present: bool,
    unread: Option<String>,
    stored: u64,
    ratio: f64,
    encode_bytes_per_second: f64,
    decode_bytes_per_second: f64,
    runs: usize,
    encode_front: bool,
    decode_front: bool,
}

#[derive(Serialize)]
struct ChoiceJson<'a> {
    what: &'static str,
    chain: &'a str,
    command: Option<String>,
}

/// A chain that is faulty or was not tried.
#[derive(Serialize)]
struct Rejected<'a> {
    chain: &'a str,
    reason: &'a str,
}

/// Returns what a chain is the best of.
pub(super) fn by(rank: Rank) -> &'static str {
    match rank {
        Rank::Size => "by size",
        Rank::Speed => "by the speed of decoding",
        Rank::Balanced => "in the balance of size and speed",
    }
}

/// Returns who reads a chain: the reader of the dataset, or why it does not.
pub(super) fn read_by(measured: &BenchReport, trial: &Trial) -> String {
    trial.unread.map_or_else(|| measured.reader.name().to_owned(), |unread| unread.to_string())
}

/// Returns the short name of a chain, followed by remarks.
pub(super) fn named(measured: &BenchReport, trial: &Trial, gap: &str) -> String {
    let remarks: Vec<String> = (trial.present.then(|| "current".to_owned()).into_iter())
        .chain(trial.unread.map(|unread| unread.to_string()))
        .collect();
    let name = chain_words(&trial.chain, measured.element);
    if remarks.is_empty() { name } else { format!("{name}{gap}({})", remarks.join("; ")) }
}

/// Returns the Pareto fronts that a chain is on.
pub(super) fn front_words(trial: &Trial) -> &'static str {
    match (trial.encode_front, trial.decode_front) {
        (true, true) => "both",
        (true, false) => "encode",
        (false, true) => "decode",
        (false, false) => "",
    }
}

/// Formats a speed.
pub(super) fn megabytes(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e6 {
        slow if slow < 10.0 => format!("{slow:.1} MB/s"),
        fast => format!("{fast:.0} MB/s"),
    }
}

fn plain(_: Style, text: &str) -> String {
    text.to_owned()
}
