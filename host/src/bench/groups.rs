//! The variables of a dataset in groups that one chain suits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ncz_model::{Container, DataError, Variable};

use super::choice::Scale;
use super::{BenchError, BenchOptions, BenchReport, Rank, Step, Trial, WORTH, bench_with};
use crate::causes::with_causes;
use crate::readers::{self, Reader};

/// Variables of fewer bytes are left as they are: what codecs do to them does not matter.
const SMALL: u64 = 4096;

/// A variable takes the chain of its group if it needs at most this much of what its own best chain needs.
const SIMILAR: f64 = 1.1;

/// The time of the first variable of a kind, on which all chains are tried, in times of each of the others.
const FIRST: f64 = 4.0;

/// How many of the smallest chains of the first variable are tried on the others of its kind.
const SMALLEST: usize = 3;

/// What was measured on the variables of a dataset.
#[derive(Clone, Debug)]
pub struct DatasetReport {
    /// What chains are chosen by.
    pub rank: Rank,
    /// The program that most people read the dataset with.
    pub reader: Reader,
    /// The variables that were tried, those with most data first.
    pub groups: Vec<Group>,
    /// The variables that were not.
    pub left_out: Vec<LeftOut>,
    /// How long it took.
    pub elapsed: Duration,
}

/// Variables of one type and number of dimensions that have the same codecs now, and that one chain suits.
#[derive(Clone, Debug)]
pub struct Group {
    /// The type of an element as stored, such as `<f4`.
    pub dtype: String,
    /// The number of dimensions; 2 stands for 2 and more.
    pub dimensions: usize,
    /// The chain that they have now.
    pub present: String,
    /// The recommended chain; `None`: they stay as they are.
    pub choice: Option<String>,
    /// What was measured on each.
    pub members: Vec<Member>,
}

/// A variable of a group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Bytes of its elements.
    pub bytes: u64,
    /// What was measured on a sample.
    pub report: BenchReport,
}

/// A variable on which no chains were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Group {
    /// The bytes of all elements.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.members.iter().map(|member| member.bytes).fold(0, u64::saturating_add)
    }

    /// Whether a chain is worth storing these variables with: the recommended one, or the one that they have.
    #[must_use]
    pub fn is_worth_codecs(&self) -> bool {
        self.members.iter().any(|member| !member.report.recommendable().is_empty())
    }
}

impl Member {
    /// What was measured of the chain that the variable has now.
    #[must_use]
    pub fn present(&self) -> Option<&Trial> {
        self.report.trials.iter().find(|trial| trial.present)
    }

    /// What was measured of a chain.
    #[must_use]
    pub fn trial(&self, chain: &str) -> Option<&Trial> {
        self.report.trials.iter().find(|trial| trial.chain == chain)
    }
}

/// The variables that are compared with each other.
struct Alike<'a> {
    dtype: &'a str,
    dimensions: usize,
    filters: String,
    variables: Vec<(&'a Variable, u64)>,
}

/// Tries chains on a sample of each of these variables (their paths), in the time of the options for all together, and
/// groups those that one chain suits.
///
/// All chains are tried on the first variable of a type, number of dimensions and codecs; on the others those that did
/// well there. Variables of less than 4 kB and those that cannot be tried are [left out](DatasetReport::left_out).
///
/// # Errors
/// [`BenchError::Stopped`]; a path is not of a variable.
pub fn bench_dataset(
    dataset: &dyn Container,
    paths: &[&str],
    options: &BenchOptions,
    rank: Rank,
    watch: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<DatasetReport, BenchError> {
    let started = Instant::now();
    let deadline = started + options.time;
    let mut left_out = Vec::new();
    let kinds = kinds(dataset, paths, &mut left_out)?;
    let mut weight: f64 = kinds.iter().map(|kind| FIRST + kind.variables.len() as f64 - 1.0).sum();
    let mut groups = Vec::new();
    for kind in &kinds {
        let first = groups.len();
        let mut leader: Option<(Vec<String>, Scale)> = None;
        for &(variable, bytes) in &kind.variables {
            let own = if leader.is_none() { FIRST } else { 1.0 };
            let share = (own / weight.max(own)).clamp(0.0, 1.0);
            weight -= own;
            let time = deadline.saturating_duration_since(Instant::now()).mul_f64(share);
            let its_options = BenchOptions { time, ..options.clone() };
            let shortlist = leader.as_ref().map(|(shortlist, _)| shortlist.as_slice());
            let report = match bench_with(dataset, &variable.path, &its_options, shortlist, watch) {
                Ok(report) => report,
                Err(BenchError::Stopped) => return Err(BenchError::Stopped),
                Err(error) => {
                    // The next one is the first then.
                    weight += if leader.is_none() { FIRST - 1.0 } else { 0.0 };
                    left_out.push(LeftOut { path: variable.path.clone(), reason: with_causes(&error) });
                    continue;
                }
            };
            let (_, scale) = leader.get_or_insert_with(|| (self::shortlist(&report, rank), report.scale()));
            add(&mut groups, first, kind, Member { bytes, report }, (rank, scale));
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes()));
    let reader = readers::usual(dataset.hierarchy().format);
    Ok(DatasetReport { rank, reader, groups, left_out, elapsed: started.elapsed() })
}

/// Sorts variables by type, number of dimensions and codecs; the one with most data is the first of its kind.
fn kinds<'a>(
    dataset: &'a dyn Container,
    paths: &[&str],
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Alike<'a>>, BenchError> {
    let mut kinds: Vec<Alike<'_>> = Vec::new();
    let hierarchy = dataset.hierarchy();
    for path in paths {
        let mut leave = |reason: String| left_out.push(LeftOut { path: (*path).to_owned(), reason });
        if let Some(lost) = hierarchy.unreadable().find(|lost| lost.path == *path) {
            leave(with_causes(&lost.error()));
            continue;
        }
        let variable = hierarchy.variable(path).map_err(DataError::from)?;
        if variable.dtype.is_variable_length() {
            leave("strings of any length are not tried".to_owned());
            continue;
        }
        let element = variable.dtype.size() as u64;
        let bytes = hierarchy.shape_of(variable).iter().fold(element, |all, len| all.saturating_mul(*len));
        if bytes < SMALL {
            leave(format!("it has {bytes} bytes only"));
            continue;
        }
        let (dtype, dimensions) = (variable.dtype.text(), variable.shape.len().min(2));
        let filters = serde_json::Value::from(ncz_model::json::to_values(&variable.filters)).to_string();
        let is_alike = |kind: &&mut Alike<'_>| {
            (kind.dtype, kind.dimensions, &kind.filters) == (dtype, dimensions, &filters)
        };
        match kinds.iter_mut().find(is_alike) {
            Some(kind) => kind.variables.push((variable, bytes)),
            None => kinds.push(Alike { dtype, dimensions, filters, variables: vec![(variable, bytes)] }),
        }
    }
    for kind in &mut kinds {
        kind.variables.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.variables.iter().map(|(_, bytes)| bytes).max().copied()));
    Ok(kinds)
}

/// The chains to try on variables that are like one on which all were tried.
fn shortlist(report: &BenchReport, rank: Rank) -> Vec<String> {
    let choices = [Some(rank), Some(Rank::Size), Some(Rank::Speed), Some(Rank::Balanced)];
    let choices = choices.into_iter().filter_map(|rank| report.choice(rank?));
    let mut smallest = report.recommendable();
    smallest.sort_by_key(|trial| trial.stored);
    let mut chains: Vec<String> = Vec::new();
    for trial in choices.chain(smallest.into_iter().take(SMALLEST)) {
        if !chains.contains(&trial.chain) && !trial.present {
            chains.push(trial.chain.clone());
        }
    }
    chains
}

/// Adds a variable to a group of its kind that it is like, or to a new one.
fn add(groups: &mut Vec<Group>, first: usize, kind: &Alike<'_>, member: Member, by: (Rank, &Scale)) {
    let own = advice(&member, None, by);
    let of_kind = groups.get_mut(first..).unwrap_or_default();
    let suited = of_kind.iter_mut().find(|group| {
        let mut chains = group.choice.iter().chain(&own);
        let takes = |chain: &String| advice(&member, Some(chain), by).as_ref() == Some(chain);
        group.choice.as_ref().is_some_and(takes) || chains.all(|chain| is_like(group, &member, chain))
    });
    match suited {
        Some(group) => group.members.push(member),
        None => {
            let present = member.present().map_or_else(|| "none".to_owned(), |trial| trial.chain.clone());
            groups.push(Group {
                dtype: kind.dtype.to_owned(),
                dimensions: kind.dimensions,
                present,
                choice: own,
                members: vec![member],
            });
        }
    }
}

/// Whether a chain makes a variable as much smaller than now as the first one of the group. Then what was decided there
/// suits it too: speeds differ from run to run.
fn is_like(group: &Group, member: &Member, chain: &str) -> bool {
    let gain = |member: &Member| {
        let now = member.present().map_or(member.report.sample.bytes, |present| present.stored);
        member.trial(chain).map(|trial| now.max(1) as f64 / trial.stored.max(1) as f64)
    };
    let gains = group.members.first().and_then(gain).zip(gain(member));
    gains.is_some_and(|(theirs, own)| theirs <= own * SIMILAR && own <= theirs * SIMILAR)
}

/// The chain to store a variable with in place of the one that it has, if that gains something. One that is preferred is
/// taken if it is about as good.
fn advice(member: &Member, preferred: Option<&str>, (rank, scale): (Rank, &Scale)) -> Option<String> {
    let report = &member.report;
    let best = report.choice_on(rank, scale)?;
    let is_as_good = |trial: &&Trial| trial.stored as f64 <= best.stored as f64 * SIMILAR;
    let preferred = preferred.and_then(|chain| {
        report.recommendable().into_iter().find(|trial| trial.chain == chain).filter(is_as_good)
    });
    let best = preferred.unwrap_or(best);
    let present = member.present().filter(|trial| trial.unread.is_none());
    let gains = present.is_none_or(|present| {
        let smaller = present.stored as f64 >= best.stored as f64 * WORTH;
        let faster = best.decode >= present.decode * WORTH;
        match rank {
            Rank::Size => smaller,
            Rank::Speed => faster,
            Rank::Balanced => smaller || faster,
        }
    });
    (gains && !best.present).then(|| best.chain.clone())
}

#[cfg(test)]
mod tests {
    use ncz_model::Format;

    use super::*;
    use crate::bench::Sampled;

    /// A variable with the codec `now`: chains by name, stored bytes and speed of decoding.
    fn member(path: &str, chains: &[(&str, u64, f64)]) -> Member {
        let trial = |&(chain, stored, decode): &(&str, u64, f64)| Trial {
            chain: chain.to_owned(),
            present: chain == "now",
            unread: None,
            stored,
            encode: 1e9,
            decode,
            runs: 3,
            encode_front: false,
            decode_front: false,
        };
        let sample = Sampled { chunks: 1, bytes: 1 << 20, chunk_len: 1 << 20, existing: Some(1), cut: None };
        let report = BenchReport {
            element: 4,
            path: path.to_owned(),
            sample,
            threads: 1,
            reader: readers::usual(Format::Zarr2),
            trials: chains.iter().map(trial).collect(),
            faulty: Vec::new(),
            skipped: Vec::new(),
            elapsed: Duration::ZERO,
        };
        Member { bytes: 1 << 20, report }
    }

    fn groups(members: Vec<Member>) -> Vec<(Option<String>, usize)> {
        let kind = Alike { dtype: "<f4", dimensions: 1, filters: String::new(), variables: Vec::new() };
        let scale = members[0].report.scale();
        let mut groups = Vec::new();
        for member in members {
            add(&mut groups, 0, &kind, member, (Rank::Balanced, &scale));
        }
        groups.into_iter().map(|group| (group.choice, group.members.len())).collect()
    }

    #[test]
    fn variables_on_which_chains_do_the_same_get_one_advice_however_fast_they_happened_to_be() {
        // On the first all chains were tried, on the others the good ones, once fast and once slow.
        let first = member("/a", &[("now", 12_000, 2e9), ("small", 2_900, 1.9e9), ("slow", 2_800, 1e7)]);
        let others = [(2e9, 1e9), (1e9, 2e9), (4e9, 3e8)]
            .map(|(now, small)| member("/b", &[("now", 12_000, now), ("small", 2_900, small)]));
        let all = [vec![first], others.to_vec()].concat();
        assert_eq!(groups(all), [(Some("small".to_owned()), 4)]);
        let kept = member("/a", &[("now", 12_000, 9e9), ("small", 11_900, 5e9), ("slow", 11_000, 1e7)]);
        let other = member("/b", &[("now", 12_000, 1e9), ("small", 11_900, 2e9)]);
        assert_eq!(groups(vec![kept.clone(), other]), [(None, 2)]);
        // What is smaller on another one is another group.
        let other = member("/b", &[("now", 12_000, 2e9), ("small", 2_900, 1.9e9)]);
        assert_eq!(groups(vec![kept, other]), [(None, 1), (Some("small".to_owned()), 1)]);
    }
}
