//! The report of `ncz bench` on a dataset: a line for each group of similar variables, and one command.

use ncz::bench::{DatasetReport as Measured, Group, Member, Trial, WORTH};
use serde::Serialize;

use super::names::Ends;
use super::report::{SCHEMA, by, megabytes};
use crate::codec_words::chain_words;
use crate::output::{Cell, Style, Table, bytes, count, seconds};
use crate::secrets;

/// What was measured on the variables of a dataset.
pub(super) struct DatasetReport<'a> {
    pub(super) ends: Ends<'a>,
    pub(super) measured: &'a Measured,
}

/// What a group of variables takes, with some chains.
#[derive(Clone, Copy, Default)]
pub(super) struct Figures {
    /// Decoded bytes of the samples.
    sampled: f64,
    /// Stored bytes of the samples.
    stored: f64,
    /// Seconds to decode them.
    decoding: f64,
    /// Bytes of all elements as stored, if all are stored as the samples are.
    pub(super) whole: f64,
}

impl Figures {
    /// Adds a variable that has a chain.
    fn add(&mut self, member: &Member, trial: &Trial) {
        let (sampled, stored) = (member.report.sample.bytes as f64, trial.stored as f64);
        self.sampled += sampled;
        self.stored += stored;
        self.decoding += sampled / trial.decode;
        self.whole += member.bytes as f64 * stored / sampled.max(1.0);
    }

    fn of<'m>(members: impl IntoIterator<Item = (&'m Member, Option<&'m Trial>)>) -> Option<Self> {
        let mut figures = Self::default();
        members.into_iter().try_for_each(|(member, trial)| {
            figures.add(member, trial?);
            Some(())
        })?;
        Some(figures)
    }

    pub(super) fn ratio(self) -> f64 {
        self.sampled / self.stored.max(1.0)
    }

    pub(super) fn decode(self) -> f64 {
        self.sampled / self.decoding.max(1e-9)
    }
}

/// What variables take now.
pub(super) fn now(group: &Group) -> Option<Figures> {
    Figures::of(group.members.iter().map(|member| (member, member.present())))
}

/// What variables take as it is recommended.
pub(super) fn then(group: &Group) -> Option<Figures> {
    match &group.choice {
        Some(chain) => Figures::of(group.members.iter().map(|member| (member, member.trial(chain)))),
        None => now(group),
    }
}

/// The names of the variables of a group.
pub(super) fn names(group: &Group) -> Vec<&str> {
    group.members.iter().map(|member| member.report.path.trim_start_matches('/')).collect()
}

/// Bytes of an element.
pub(super) fn element(group: &Group) -> usize {
    group.members.first().map_or(0, |member| member.report.element)
}

/// The recommended chain in words.
pub(super) fn advice(group: &Group) -> String {
    match &group.choice {
        Some(chain) => chain_words(chain, element(group)),
        None if group.is_worth_codecs() => "keep".to_owned(),
        None => format!("keep: none makes it {WORTH} times smaller"),
    }
}

/// The number of dimensions in words.
pub(super) fn dimensions(group: &Group) -> &'static str {
    match group.dimensions {
        0 => "scalar",
        1 => "1-D",
        _ => "2-D+",
    }
}

impl<'a> DatasetReport<'a> {
    pub(super) fn new(ends: Ends<'a>, measured: &'a Measured) -> Self {
        Self { ends, measured }
    }

    fn changed(&self) -> impl Iterator<Item = &'a Group> {
        self.measured.groups.iter().filter(|group| group.choice.is_some())
    }

    /// Returns the command that applies all recommendations; `None` if there are none.
    pub(super) fn command(&self) -> Option<String> {
        let codecs = self.changed().filter_map(|group| {
            let paths = group.members.iter().map(|member| member.report.path.as_str()).collect();
            Some((paths, group.choice.as_deref()?))
        });
        let mut codecs = codecs.peekable();
        codecs.peek()?;
        Some(self.ends.command(codecs))
    }

    pub(super) fn has_faulty(&self) -> bool {
        self.faulty().next().is_some()
    }

    fn faulty(&self) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let members = self.measured.groups.iter().flat_map(|group| &group.members);
        members.flat_map(|member| {
            let of = move |fault: &'a ncz::bench::Faulty| {
                (member.report.path.as_str(), fault.chain.as_str(), fault.reason.as_str())
            };
            member.report.faulty.iter().map(of)
        })
    }

    /// Returns the answer in words.
    pub(super) fn answer(&self) -> String {
        let all = self.measured.groups.iter().map(|group| group.members.len()).sum::<usize>();
        let all = all + self.measured.left_out.len();
        let changed: usize = self.changed().map(|group| group.members.len()).sum();
        let reader = self.measured.reader.name();
        if self.measured.groups.is_empty() {
            return "Keep the dataset as it is: no variable can be tried, or has enough data".to_owned();
        }
        if changed == 0 {
            return match self.measured.groups.iter().any(Group::is_worth_codecs) {
                true => format!(
                    "Keep the dataset as it is: its codecs are the best {}, of those that {reader} reads",
                    by(self.measured.rank)
                ),
                false => format!(
                    "Keep the dataset as it is: no codecs that {reader} reads make a variable {WORTH} times smaller"
                ),
            };
        }
        let (mut before, mut after) = (Figures::default(), Figures::default());
        for (now, then) in self.measured.groups.iter().filter_map(|group| now(group).zip(then(group))) {
            for (sum, one) in [(&mut before, now), (&mut after, then)] {
                sum.sampled += one.sampled;
                sum.decoding += one.decoding;
                sum.whole += one.whole;
            }
        }
        let size = match before.whole / after.whole.max(1.0) {
            times if times >= 1.005 => format!("{times:.2} times smaller than now"),
            times if times <= 0.995 => format!("{:.2} times larger than now", 1.0 / times),
            _ => "as large as now".to_owned(),
        };
        let speed = match after.decode() / before.decode() {
            times if times >= 1.05 => format!(", and is decoded {times:.1} times faster"),
            times if times <= 0.95 => format!(", and takes {:.1} times longer to decode", 1.0 / times),
            _ => String::new(),
        };
        format!(
            "Give {changed} of {} other codecs: the dataset becomes {size} (about {} in place of {}){speed}",
            count(all as u64, "variable"),
            bytes(after.whole as u64),
            bytes(before.whole as u64),
        )
    }

    pub(super) fn to_text(&self, style: Style, verbose: bool) -> String {
        let mut text = format!("{}\n", style.bold(&self.answer()));
        let mut table = Table::new(&[
            "type",
            "",
            "now",
            "recommended",
            ">now",
            ">then",
            ">decode now",
            ">then",
            "variables",
        ]);
        for group in &self.measured.groups {
            let ratio = |figures: Option<Figures>| {
                Cell::new(figures.map_or_else(|| "-".to_owned(), |of| format!("{:.2}x", of.ratio())))
            };
            let decode = |figures: Option<Figures>| {
                Cell::new(figures.map_or_else(|| "-".to_owned(), |of| megabytes(of.decode())))
            };
            let paint = if group.choice.is_some() { Style::bold } else { Style::dim };
            let variables = names(group).join(", ");
            table.row([
                Cell::new(&group.dtype),
                Cell::new(dimensions(group)),
                Cell::new(chain_words(&group.present, element(group))),
                Cell::painted(advice(group), paint),
                ratio(now(group)),
                ratio(then(group)),
                decode(now(group)),
                decode(then(group)),
                Cell::new(variables),
            ]);
        }
        if !self.measured.groups.is_empty() {
            text.push_str(&table.render(style, "  "));
        }
        if let Some(command) = self.command() {
            text.push_str(&format!("{}\n  {command}\n", style.good("apply with:")));
        }
        for (path, chain, reason) in self.faulty() {
            text.push_str(&format!("{}: {path}: {chain}: {reason}\n", style.bad("faulty")));
        }
        match self.measured.left_out.len() {
            0 => {}
            many if !verbose => text.push_str(&style.dim(&format!(
                "{} not tried; -v lists them with the reasons\n",
                count(many as u64, "variable")
            ))),
            _ => {
                for left in &self.measured.left_out {
                    text.push_str(&format!("{}: {}: {}\n", style.dim("not tried"), left.path, left.reason));
                }
            }
        }
        text.push_str(&style.dim(&format!("{}\n", self.how())));
        text
    }

    /// Says how it was measured.
    pub(super) fn how(&self) -> String {
        format!(
            "ranked {}; samples of each variable, {}; ncz bench {} VARIABLE shows all chains of one",
            by(self.measured.rank),
            seconds(self.measured.elapsed),
            crate::shell::quoted(&secrets::hide(self.ends.dataset)),
        )
    }

    pub(super) fn to_json(&self) -> impl Serialize {
        let group = |group: &'a Group| {
            let (now, then) = (now(group), then(group));
            GroupJson {
                variables: group.members.iter().map(|member| member.report.path.as_str()).collect(),
                r#type: &group.dtype,
                dimensions: dimensions(group),
                bytes: group.bytes(),
                current: FiguresJson::of(group, &group.present, now),
                recommended: group.choice.as_deref().map(|chain| FiguresJson::of(group, chain, then)),
            }
        };
        DatasetJson {
            schema: SCHEMA,
            answer: self.answer(),
            dataset: secrets::hide(self.ends.dataset),
            reader: self.measured.reader.name(),
            rank: self.measured.rank.name(),
            command: self.command(),
            seconds: self.measured.elapsed.as_secs_f64(),
            groups: self.measured.groups.iter().map(group).collect(),
            faulty: self
                .faulty()
                .map(|(variable, chain, reason)| FaultyJson { variable, chain, reason })
                .collect(),
            left_out: self
                .measured
                .left_out
                .iter()
                .map(|left| LeftJson { variable: &left.path, reason: &left.reason })
                .collect(),
        }
    }
}

/// The JSON form.
#[derive(Serialize)]
struct DatasetJson<'a> {
    schema: u32,
    answer: String,
    dataset: String,
    reader: &'static str,
    rank: &'static str,
    command: Option<String>,
    seconds: f64,
    groups: Vec<GroupJson<'a>>,
    faulty: Vec<FaultyJson<'a>>,
    left_out: Vec<LeftJson<'a>>,
}

#[derive(Serialize)]
struct GroupJson<'a> {
    variables: Vec<&'a str>,
    r#type: &'a str,
    dimensions: &'static str,
    bytes: u64,
    current: FiguresJson<'a>,
    recommended: Option<FiguresJson<'a>>,
}

#[derive(Serialize)]
struct FiguresJson<'a> {
    chain: &'a str,
    name: String,
    ratio: Option<f64>,
    decode_bytes_per_second: Option<f64>,
}

impl<'a> FiguresJson<'a> {
    fn of(group: &Group, chain: &'a str, figures: Option<Figures>) -> Self {
        Self {
            chain,
            name: chain_words(chain, element(group)),
            ratio: figures.map(Figures::ratio),
            decode_bytes_per_second: figures.map(Figures::decode),
        }
    }
}

#[derive(Serialize)]
struct FaultyJson<'a> {
    variable: &'a str,
    chain: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct LeftJson<'a> {
    variable: &'a str,
    reason: &'a str,
}
