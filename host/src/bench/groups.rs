//! The variables of a dataset in groups that one chain suits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ncz_model::{Container, DataError, Variable};

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
        let mut shortlist: Option<Vec<String>> = None;
        for &(variable, bytes) in &kind.variables {
            let own = if shortlist.is_none() { FIRST } else { 1.0 };
            let share = (own / weight.max(own)).clamp(0.0, 1.0);
            weight -= own;
            let time = deadline.saturating_duration_since(Instant::now()).mul_f64(share);
            let its_options = BenchOptions { time, ..options.clone() };
            let report = match bench_with(dataset, &variable.path, &its_options, shortlist.as_deref(), watch)
            {
                Ok(report) => report,
                Err(BenchError::Stopped) => return Err(BenchError::Stopped),
                Err(error) => {
                    // The next one is the first then.
                    weight += if shortlist.is_none() { FIRST - 1.0 } else { 0.0 };
                    left_out.push(LeftOut { path: variable.path.clone(), reason: with_causes(&error) });
                    continue;
                }
            };
            shortlist.get_or_insert_with(|| self::shortlist(&report, rank));
            add(&mut groups, first, kind, Member { bytes, report }, rank);
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
fn add(groups: &mut Vec<Group>, first: usize, kind: &Alike<'_>, member: Member, rank: Rank) {
    let own = advice(&member, None, rank);
    let of_kind = groups.get_mut(first..).unwrap_or_default();
    let suited = of_kind.iter_mut().find(|group| match (&group.choice, &own) {
        (Some(chain), Some(_)) => advice(&member, Some(chain), rank).as_ref() == Some(chain),
        (theirs, own) => theirs == own,
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

/// The chain to store a variable with in place of the one that it has, if that gains something. One that is preferred is
/// taken if it is about as good.
fn advice(member: &Member, preferred: Option<&str>, rank: Rank) -> Option<String> {
    let report = &member.report;
    let best = report.choice(rank)?;
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
