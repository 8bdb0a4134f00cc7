//! Finds lossless codecs that suit a variable, or the variables of a dataset: tries every available chain on a sample of
//! their chunks.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ncz::bench::{BenchOptions, bench};
//! use ncz::model::{Elements, Format, Hierarchy, NcType, VariableBuilder, Pool, Session, Slab};
//! use ncz::zarr::Dataset;
//! use ncz::registry::Registry;
//! use ncz::store::MemoryStore;
//!
//! let mut hierarchy = Hierarchy::new(Format::NCZARR);
//! hierarchy.add_dimension("/", "x", 1000, false)?;
//! hierarchy.add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]))?;
//! let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
//! let mut dataset = Dataset::create(Arc::new(MemoryStore::new("x")), hierarchy, session, false)?;
//! let values: Vec<u8> = (0..1000i32).flat_map(i32::to_ne_bytes).collect();
//! dataset.array("/v")?.write_bytes(&Slab::whole(&[1000]), Elements::Native, &values)?;
//! dataset.flush()?;
//!
//! let options = BenchOptions { time: std::time::Duration::from_millis(500), ..BenchOptions::default() };
//! let report = bench(&dataset, "/v", &options, &mut |_| std::ops::ControlFlow::Continue(()))?;
//! assert!(report.best_ratio().unwrap().ratio(&report.sample) > 2.0);
//! assert!(report.faulty.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidates;
mod choice;
mod groups;
mod harness;
mod pareto;
mod sample;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ncz_model::Container;
use ncz_model::Remedy;
use ncz_model::{DataError, Format};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;

pub use self::candidates::Skipped;
pub use self::choice::{Rank, WORTH};
pub use self::groups::{DatasetReport, Group, LeftOut, Member, bench_dataset};
pub use self::pareto::pareto_front;
pub use self::sample::Sampled;

use self::candidates::Candidates;
use self::harness::{Checked, Harness, Run};
use self::sample::Sample;
use crate::causes::with_causes;
use crate::readers::{self, Reader, Unread};

/// Timed runs of a chain at most; the fastest counts.
const RUNS: usize = 5;

/// Options of a benchmark.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Bytes of decoded chunks to try them on; at least one chunk is used, or a part of it if it is more than
    /// four times as long.
    pub sample: u64,
    /// How long to take. A chain that is running is given up at the next chunk.
    pub time: Duration,
    /// Chains to try besides the known ones, whether they are lossless or not: each has to give back what went in.
    pub also: Vec<ChainSpec>,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self { sample: 8 << 20, time: Duration::from_secs(20), also: Vec::new() }
    }
}

/// The progress of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The path of the variable.
    pub path: &'a str,
    /// The chain that is next.
    pub chain: &'a str,
    /// Runs that are done.
    pub done: usize,
    /// Runs that there will be, at most.
    pub total: usize,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct BenchReport {
    /// The path of the variable.
    pub path: String,
    /// Bytes of an element.
    pub element: usize,
    /// What the chains were tried on.
    pub sample: Sampled,
    /// Threads that worked at the same time.
    pub threads: usize,
    /// The program that most people read the dataset with. Chains that it does not read are measured, and not
    /// recommended.
    pub reader: Reader,
    /// The chains that gave back the sample, the best ratio first.
    pub trials: Vec<Trial>,
    /// Those that did not, with the reason: do not use them.
    pub faulty: Vec<Faulty>,
    /// What was not tried, with the reason.
    pub skipped: Vec<Skipped>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A chain and what it does to the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The chain as filter text or JSON, which [`ChainSpec::parse`] reads; `none` for no codec.
    pub chain: String,
    /// Whether the variable has it now.
    pub present: bool,
    /// Why the [reader](BenchReport::reader) of the dataset does not read it; `None`: it does.
    pub unread: Option<Unread>,
    /// Bytes of the sample as stored.
    pub stored: u64,
    /// Bytes of decoded data that are encoded in a second.
    pub encode: f64,
    /// Bytes of decoded data that are decoded in a second.
    pub decode: f64,
    /// How many timed runs these are of. With none, the time was over and they are those of the run that warms up.
    pub runs: usize,
    /// Whether no other chain has both a better ratio and a better speed of encoding.
    pub encode_front: bool,
    /// Whether no other chain has both a better ratio and a better speed of decoding.
    pub decode_front: bool,
}

impl Trial {
    /// How many times the stored bytes fit into the decoded ones.
    #[must_use]
    pub fn ratio(&self, sample: &Sampled) -> f64 {
        sample.bytes as f64 / self.stored.max(1) as f64
    }
}

/// A chain that must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// The chain as text.
    pub chain: String,
    /// What it did.
    pub reason: String,
}

/// Why a benchmark failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The variable, or a chunk of it, cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// All of it is fill.
    #[error("no chunk of variable {path:?} exists, so there is nothing to try codecs on")]
    Empty {
        /// The path.
        path: String,
    },
    /// The store cannot list chunks, and none was found.
    #[error(
        "none of {tried} chunks of variable {path:?} that were asked for exists, and the store cannot list them"
    )]
    NotMet {
        /// The path.
        path: String,
        /// The number of requested chunks.
        tried: u64,
    },
    /// Strings of any length.
    #[error(
        "variable {path:?} has strings of any length, on which chains are not tried; choose another variable"
    )]
    Strings {
        /// The path.
        path: String,
    },
    /// The caller said to stop.
    #[error("trying chains was stopped")]
    Stopped,
}

impl BenchError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Data(error) => error.remedy(),
            _ => None,
        }
    }
}

/// A chain under test.
struct Subject {
    text: String,
    chain: FilterChain,
    present: bool,
    checked: Option<Checked>,
    runs: Vec<Run>,
}

/// Tries chains on a sample of a variable, on the threads of the dataset's session.
///
/// Each is looked at whole first: what it decodes must be what was encoded. Then all take turns, so that what else the
/// machine does hits them alike. `watch` is called before each run, and may stop it.
///
/// Codecs that [say](ncz_codec::CodecInfo::lossy) that they are lossless are tried, with their defaults if nothing more
/// is known about them; others are [left out](BenchReport::skipped) and can be named in [`BenchOptions::also`].
///
/// # Errors
/// See [`BenchError`]. A chain that fails is not an error but part of the report.
pub fn bench(
    dataset: &dyn Container,
    path: &str,
    options: &BenchOptions,
    watch: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<BenchReport, BenchError> {
    bench_with(dataset, path, options, None, watch)
}

/// Tries chains on a sample of a variable: all that are known, or the present one, none, and `only` these.
fn bench_with(
    dataset: &dyn Container,
    path: &str,
    options: &BenchOptions,
    only: Option<&[String]>,
    watch: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<BenchReport, BenchError> {
    let started = Instant::now();
    let deadline = started + options.time;
    let variable = dataset.hierarchy().variable(path).map_err(DataError::from)?;
    if variable.dtype.is_variable_length() {
        return Err(BenchError::Strings { path: variable.path.clone() });
    }
    let sample = Sample::take(dataset, variable, options.sample, started + options.time / 2)?;
    let Candidates { mut subjects, mut skipped } =
        Candidates::of(dataset, variable, &sample, &options.also, only);
    let pool = &dataset.session().pool;
    let harness = Harness::new(&sample, pool);
    let mut faulty = Vec::new();
    let total = subjects.len() * (RUNS + 1);
    let mut done = 0;
    let mut tell = |chain: &str| {
        let step = Step { path: &variable.path, chain, done, total };
        done += 1;
        if watch(step).is_break() { Err(BenchError::Stopped) } else { Ok(()) }
    };
    let mut at = 0;
    while let Some(subject) = subjects.get_mut(at) {
        tell(&subject.text)?;
        let checked = harness.check(&subject.chain, deadline);
        match checked {
            Ok(Some(checked)) => {
                subject.checked = Some(checked);
                at += 1;
            }
            Ok(None) => {
                let chain = subjects.remove(at).text;
                skipped.push(Skipped { chain, reason: "the time was over".to_owned() });
            }
            Err(error) => {
                let reason = with_causes(&error);
                faulty.push(Faulty { chain: subjects.remove(at).text, reason });
            }
        }
    }
    for _ in 0..RUNS {
        for at in (0..subjects.len()).rev() {
            let Some(subject) = subjects.get_mut(at) else { continue };
            tell(&subject.text)?;
            // Slow ones go without a second look rather than beyond the time.
            let cost = subject.checked.as_ref().map_or(Duration::ZERO, |checked| checked.first.cost());
            if Instant::now() + cost > deadline {
                continue;
            }
            match harness.run(&subject.chain) {
                Ok(run) => subject.runs.push(run),
                Err(error) => {
                    let reason = with_causes(&error);
                    faulty.push(Faulty { chain: subjects.remove(at).text, reason });
                }
            }
        }
    }
    let sampled = sample.summary;
    let format = dataset.hierarchy().format;
    let trials = subjects.into_iter().filter_map(|subject| subject.trial(&sampled, format)).collect();
    let mut report = BenchReport {
        path: variable.path.clone(),
        element: variable.dtype.size(),
        sample: sampled,
        threads: pool.threads(),
        reader: readers::usual(format),
        trials,
        faulty,
        skipped,
        elapsed: started.elapsed(),
    };
    report.mark_fronts();
    Ok(report)
}

impl Subject {
    fn trial(self, sample: &Sampled, format: Format) -> Option<Trial> {
        let checked = self.checked?;
        let speed = |of: fn(&Run) -> Duration| {
            // The best one: whatever else the machine does makes a run slower and never faster.
            let time = self.runs.iter().map(of).min().unwrap_or_else(|| of(&checked.first));
            sample.bytes as f64 / time.max(Duration::from_nanos(1)).as_secs_f64()
        };
        Some(Trial {
            encode: speed(|run| run.encode),
            decode: speed(|run| run.decode),
            unread: readers::unread(&self.chain, format).map(|(_, why)| why),
            chain: self.text,
            present: self.present,
            stored: checked.stored,
            runs: self.runs.len(),
            encode_front: false,
            decode_front: false,
        })
    }
}

impl BenchReport {
    /// Sorts the trials, and marks those that no other beats.
    fn mark_fronts(&mut self) {
        self.trials.sort_by(|a, b| a.stored.cmp(&b.stored).then(b.decode.total_cmp(&a.decode)));
        let points = |speed: fn(&Trial) -> f64| -> Vec<(f64, f64)> {
            self.trials.iter().map(|trial| (trial.ratio(&self.sample), speed(trial))).collect()
        };
        let (encode, decode) =
            (pareto_front(&points(|trial| trial.encode)), pareto_front(&points(|trial| trial.decode)));
        for (trial, (encode, decode)) in self.trials.iter_mut().zip(encode.into_iter().zip(decode)) {
            (trial.encode_front, trial.decode_front) = (encode, decode);
        }
    }
}
