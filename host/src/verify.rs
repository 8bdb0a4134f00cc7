//! Verifying a dataset: metadata that readers take differently, and every chunk decoded.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ncz::zarr::metadata::ReadOptions;
//! use ncz::model::{Format, Hierarchy, NcType, VariableBuilder, Pool, Session};
//! use ncz::zarr::Dataset;
//! use ncz::registry::Registry;
//! use ncz::store::MemoryStore;
//! use ncz::verify::{VerifyOptions, verify};
//!
//! let mut hierarchy = Hierarchy::new(Format::NCZARR);
//! hierarchy.add_dimension("/", "x", 5, false)?;
//! hierarchy.add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["x"]))?;
//! let session = Session::new(Arc::new(Registry::builder().build()), Pool::serial());
//! let dataset = Dataset::create(Arc::new(MemoryStore::new("x")), hierarchy, session, false)?;
//!
//! let report = verify(&dataset, &VerifyOptions::default(), &())?;
//! assert!(report.findings.is_empty());
//! assert_eq!((report.variables[0].chunks, report.variables[0].missing), (0, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk_index;
mod chunk_tail;
mod metadata;
mod padding;
mod stray_objects;
mod variable;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ncz_model::Container;
use ncz_model::{DataError, Pool, Variable};
use ncz_store::Key;

pub use crate::finding::{Code, Finding, Remedy, Severity};

pub(crate) use self::chunk_tail::sound_len;

use self::variable::Check;
use crate::causes::with_causes;
use crate::parallelism::Parallelism;
use crate::progress::{Phase, Progress};

/// What to look at.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The paths of the variables; `None` for all.
    pub variables: Option<BTreeSet<String>>,
    /// How many faults of chunks to keep for each variable; all are counted.
    pub keep: usize,
    /// How many missing chunks to list for each variable, see [`VariableReport::missing_chunks`]; all are counted.
    pub list_missing: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { variables: None, keep: 100, list_missing: 0 }
    }
}

/// What was found in a dataset.
#[derive(Clone, Debug)]
pub struct Report {
    /// Variable by variable, in the order of the dataset; those whose metadata cannot be read are not among them.
    pub variables: Vec<VariableReport>,
    /// The findings, first those of the dataset, then those of each variable.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub elapsed: Duration,
}

/// The chunks of one variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableReport {
    /// The path.
    pub path: String,
    /// The codecs as filter text; empty for none.
    pub chain: String,
    /// Whether some codec has a checksum. Without one, a chunk of the right length with wrong values cannot be
    /// distinguished from a valid one.
    pub checksum: bool,
    /// Whether the chunks were decoded at all; if not, a finding says why.
    pub checked: bool,
    /// Chunks that exist.
    pub chunks: u64,
    /// Of these, those with a fault.
    pub faulty: u64,
    /// Missing chunks, which read as fill and are not faults.
    pub missing: u64,
    /// The coordinates of the first missing chunks, as many as [`VerifyOptions::list_missing`] says. Chunks of a shard
    /// that cannot be read are not among them.
    pub missing_chunks: Vec<Vec<u64>>,
    /// Bytes of the sound chunks as stored.
    pub stored: u64,
    /// Bytes of the sound chunks when decoded.
    pub decoded: u64,
    /// Findings about chunks that are not in the report because there are too many.
    pub more: u64,
}

/// Why a dataset was not verified to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The store failed as a whole.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There is no such variable.
    #[error("there is no variable {path:?} in the dataset")]
    NoSuchVariable {
        /// The path.
        path: String,
    },
    /// The progress said to stop.
    #[error("verifying was stopped")]
    Stopped,
}

impl VerifyError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Data(error) => error.remedy(),
            _ => None,
        }
    }
}

impl Report {
    /// How many findings there are of a severity, those that were not kept included.
    #[must_use]
    pub fn count(&self, severity: Severity) -> u64 {
        let kept = self.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
        // Only faults of chunks are limited in number.
        let more = self.variables.iter().map(|variable| variable.more).sum::<u64>();
        if severity == Severity::Error { kept.saturating_add(more) } else { kept }
    }

    /// Whether data are lost, or some program misreads them.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.count(Severity::Error) == 0 && self.count(Severity::Warning) == 0
    }
}

/// A variable with fewer objects for each thread than this is checked by one thread, together with others.
const SMALL: u64 = 4;

/// Looks at the metadata of a dataset and decodes every stored chunk, on all threads of its session.
///
/// Every chunk is visited, whatever is found before it. Memory is bounded by a chunk a thread, and by the list of the
/// chunks' numbers. On a remote store, I/O threads replace those of the pool, see [`Pool`]. If a store cannot list its
/// keys, a finding says what was not checked.
///
/// # Errors
/// See [`VerifyError`]. What is wrong with the dataset is not an error but part of the report.
pub fn verify(
    dataset: &dyn Container,
    options: &VerifyOptions,
    progress: &dyn Progress,
) -> Result<Report, VerifyError> {
    let started = Instant::now();
    for path in options.variables.iter().flatten() {
        let known = dataset.hierarchy().variables().any(|variable| variable.path == *path)
            || dataset.hierarchy().unreadable().any(|lost| lost.path == *path);
        if !known {
            return Err(VerifyError::NoSuchVariable { path: path.clone() });
        }
    }
    let wanted = |path: &str| options.variables.as_ref().is_none_or(|paths| paths.contains(path));
    let mut findings = metadata::findings(dataset)?;
    match dataset.interrupted() {
        Ok(interrupted) => findings.extend(interrupted.as_ref().map(Finding::interrupted)),
        Err(error @ DataError::Journal { .. }) => {
            let finding = Finding::new(Severity::Warning, Code::Interrupted, with_causes(&error));
            findings.push(finding.key(Key::JOURNAL.as_str()).remedy(Remedy::Repair));
        }
        Err(error) => return Err(error.into()),
    }
    if !dataset.store().capabilities().list && !dataset.hierarchy().format.is_netcdf() {
        let reason = "the store does not list its keys: every chunk was checked, but not metadata that readers \
                      interpret differently, chunks outside of their arrays or under wrong keys, and objects of no \
                      variable";
        findings.push(Finding::new(Severity::Note, Code::NotListed, reason));
    }
    if options.variables.is_none() {
        findings.extend(stray_objects::findings(dataset)?);
    }
    findings.retain(|finding| finding.variable.as_deref().is_none_or(wanted));
    let variables: Vec<&Variable> =
        dataset.hierarchy().variables().filter(|variable| wanted(&variable.path)).collect();
    let mut reports = Vec::with_capacity(variables.len());
    for (report, found) in chunks(dataset, &variables, options, progress)? {
        reports.push(report);
        findings.extend(found);
    }
    // Of two findings about the same fault, the one with a remedy stays.
    let known: BTreeSet<String> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error && finding.remedy.is_some())
        .filter_map(|finding| finding.variable.clone())
        .collect();
    findings.retain(|finding| {
        let explained = finding.variable.as_ref().is_some_and(|path| known.contains(path));
        !(explained
            && matches!(
                finding.code,
                Code::VariableUnreadable | Code::CodecUnusable | Code::VariableUnchecked
            ))
    });
    Ok(Report { variables: reports, findings, elapsed: started.elapsed() })
}

type Checked = (VariableReport, Vec<Finding>);

/// Decodes the chunks of all variables: small ones side by side, large ones each on all threads.
fn chunks(
    dataset: &dyn Container,
    variables: &[&Variable],
    options: &VerifyOptions,
    progress: &dyn Progress,
) -> Result<Vec<Checked>, VerifyError> {
    let pool = &dataset.session().pool;
    let total: u64 = variables.iter().map(|variable| expected(variable)).fold(0, u64::saturating_add);
    progress.begin(Phase::Verify, total);
    let small = |variable: &Variable| object_count(variable) <= SMALL * pool.threads() as u64;
    let done: Vec<Mutex<Option<Checked>>> = variables.iter().map(|_| Mutex::default()).collect();
    let one = |at: usize, pool: &Pool| -> Result<(), VerifyError> {
        let (Some(variable), Some(slot)) = (variables.get(at), done.get(at)) else { return Ok(()) };
        let checked = match Check::new(dataset, variable, options) {
            Ok(check) => check.run(pool, progress)?,
            Err(error) => unchecked(variable, &error),
        };
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(checked);
        Ok(())
    };
    let (few, many): (Vec<usize>, Vec<usize>) =
        (0..variables.len()).partition(|&at| variables.get(at).is_some_and(|variable| small(variable)));
    let serial = Pool::serial();
    let largest = few.iter().filter_map(|&at| variables.get(at)).map(|variable| object_bytes(variable)).max();
    let bytes = largest.unwrap_or(0).saturating_mul(2);
    let parallelism =
        Parallelism { pool, stores: [&**dataset.store(); 2], bytes, one_by_one: false, limit: u64::MAX };
    let small = |(): &mut (), position: u64| match few.get(position as usize) {
        Some(&at) => one(at, &serial),
        None => Ok(()),
    };
    parallelism.for_each(few.len() as u64, || (), small)?;
    many.into_iter().try_for_each(|at| one(at, pool))?;
    let taken = |slot: Mutex<Option<Checked>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(done.into_iter().filter_map(taken).collect())
}

/// A variable whose chunks cannot be looked at.
fn unchecked(variable: &Variable, error: &DataError) -> Checked {
    let code = match error {
        DataError::Resolve { .. } => Code::CodecMissing,
        DataError::Spec { .. } | DataError::Chain { .. } => Code::CodecUnusable,
        _ => Code::VariableUnchecked,
    };
    let finding = Finding::new(Severity::Error, code, with_causes(error)).variable(&variable.path);
    (VariableReport { path: variable.path.clone(), ..VariableReport::default() }, vec![finding])
}

/// How many objects a variable has at most.
fn object_count(variable: &Variable) -> u64 {
    let lens = variable.shape.iter().zip(variable.object_shape());
    lens.fold(1u64, |product, (len, chunk)| product.saturating_mul(len.div_ceil((*chunk).max(1))))
}

/// Bytes of decoded data, if all objects exist; strings of any length count as bytes.
fn expected(variable: &Variable) -> u64 {
    object_bytes(variable).saturating_mul(object_count(variable))
}

/// Bytes of decoded data in an object.
fn object_bytes(variable: &Variable) -> u64 {
    let element = variable.dtype.size().max(1) as u64;
    variable.object_shape().iter().copied().fold(element, u64::saturating_mul)
}
