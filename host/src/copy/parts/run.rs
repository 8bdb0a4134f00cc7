//! Makes a part of a copy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_model::{Container, DataError, LossyGuard, Pool, Session, ShuffleReading};
use ncz_registry::Registry;
use ncz_store::{Key, KeyBuf, WriteMode};
use ncz_zarr::Dataset as ZarrDataset;
use serde::{Deserialize, Serialize};

use super::super::strings::AnyVariableCopy;
use super::super::{CopySummary, ForeignObjects, Resources, VariableSummary, Verified, rechunk, run, verify};
use super::staging::{Staging, Stores};
use super::{Part, PartsError, PartsPlan, ShuffleSize, codecs, source};
use crate::dataset::Dataset;
use crate::progress::Progress;

/// With what a part is made. Nothing of it changes the bytes of the copy.
#[derive(Clone, Debug)]
pub struct PartWorker {
    /// The codecs, which have to be those of the plan.
    pub registry: Arc<Registry>,
    /// The threads.
    pub pool: Pool,
    /// Bytes of decoded and encoded data to hold at most; 96 MiB by default.
    pub memory: Option<u64>,
    /// The folder for scratch files; by default that of the system.
    pub scratch: Option<PathBuf>,
    /// Whether what was copied is compared with the source, although the plan does not say so.
    pub verify: bool,
}

/// What is known of a part that is complete.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) token: String,
    pub(super) part: usize,
    pub(super) seconds: f64,
    pub(super) variables: Vec<VariableSummary>,
}

/// Both sides of a copy in parts.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    plan: &'a PartsPlan,
    pub(super) source: Dataset,
    pub(super) copy: ZarrDataset,
    pub(super) staging: Staging,
    pub(super) stores: Stores,
    worker: &'a PartWorker,
}

impl PartsPlan {
    /// Checks that parts can run in this process: that it is the same version, sees source and target, and has the same
    /// codecs. Nothing is written.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, worker: &PartWorker) -> Result<(), PartsError> {
        Ends::open(self, worker).map(drop)
    }

    /// Makes these parts, by their numbers, one after the other. A part that was made before is made again, with the
    /// same bytes.
    ///
    /// # Errors
    /// As for [`check`](Self::check); the source changed; or copying failed. A part that failed is not complete, and can
    /// run again.
    pub fn run(
        &self,
        parts: &[usize],
        worker: &PartWorker,
        progress: &dyn Progress,
    ) -> Result<CopySummary, PartsError> {
        let all = self.parts().len();
        if let Some(&part) = parts.iter().find(|part| **part >= all) {
            return Err(PartsError::NoSuchPart { part, parts: all });
        }
        let ends = Ends::open(self, worker)?;
        let (mut variables, mut elapsed) = (Vec::new(), Duration::ZERO);
        for &number in parts {
            let Some(part) = self.parts().get(number) else { continue };
            let start = Instant::now();
            let copied = ends.run(part, progress)?;
            let seconds = start.elapsed();
            let record = Record {
                token: self.token().to_owned(),
                part: number,
                seconds: seconds.as_secs_f64(),
                variables: copied.clone(),
            };
            ends.note(&record)?;
            elapsed += seconds;
            variables.extend(copied);
        }
        Ok(ends.summary(variables, elapsed))
    }
}

impl<'a> Ends<'a> {
    /// Opens both sides, and checks that they are those of the plan.
    pub(super) fn open(plan: &'a PartsPlan, worker: &'a PartWorker) -> Result<Self, PartsError> {
        let here = env!("CARGO_PKG_VERSION");
        if plan.body.ncz != here {
            return Err(PartsError::Version { planned: plan.body.ncz.clone(), here });
        }
        let session = Session {
            shuffle: match plan.body.shuffle_size {
                None => ShuffleReading::Refuse,
                Some(ShuffleSize::Type) => ShuffleReading::TypeSize,
                Some(ShuffleSize::Stored) => ShuffleReading::AsStored,
            },
            lossy_guard: if plan.body.lossy_guard { LossyGuard::On } else { LossyGuard::Off },
            ..Session::new(Arc::clone(&worker.registry), worker.pool.clone())
        };
        let url = plan.source()?;
        let source = url.open(session.clone())?;
        let now = source::state(&url, source.hierarchy())?;
        if let Some(what) = source::difference(&plan.body.state, &now) {
            return Err(changed(plan, what)?);
        }
        let staging = plan.staging()?;
        let stores = staging.open(plan.token())?;
        let copy = ZarrDataset::without_documents(Arc::clone(&stores.data), plan.hierarchy()?, session);
        let has = |path: &str| copy.hierarchy().variable(path).is_ok();
        let differences = codecs::used(&source, &copy, &has);
        let differences = codecs::differences(&plan.body.codecs, &differences?);
        if !differences.is_empty() {
            return Err(PartsError::Codecs { differences });
        }
        Ok(Self { plan, source, copy, staging, stores, worker })
    }

    /// Copies the regions of a part, and compares them if requested.
    fn run(&self, part: &Part, progress: &dyn Progress) -> Result<Vec<VariableSummary>, PartsError> {
        let selection = self.plan.selection();
        let check = || match source::has_same_objects(&self.source, &selection, part)? {
            true => Ok(()),
            false => Err(changed(self.plan, "chunks that the part reads are other versions")?),
        };
        check()?;
        let copies = self.copies(part)?;
        let mut variables = run(&copies, progress)?;
        if self.plan.body.verify || self.worker.verify {
            verify(&copies, &mut variables, progress)?;
        }
        // What was read while the source changed is of neither version.
        check()?;
        self.staging.sync()?;
        Ok(merged(variables))
    }

    /// What is copied by a part.
    pub(super) fn copies(&self, part: &Part) -> Result<Vec<AnyVariableCopy<'_>>, PartsError> {
        let selection = self.plan.selection();
        let resources = Resources {
            memory: self.worker.memory.unwrap_or(rechunk::MEMORY),
            scratch: self.worker.scratch.as_deref(),
            keep: false,
            salvage: false,
        };
        let mut copies = Vec::with_capacity(part.regions.len());
        for region in &part.regions {
            let original = self.source.hierarchy().variable(&region.variable).map_err(DataError::from)?;
            let window = selection.window(original).part(&region.start, &region.shape);
            copies.push(AnyVariableCopy::new(&self.source, &self.copy, original, window, resources)?);
        }
        Ok(copies)
    }

    /// Notes that a part is complete.
    fn note(&self, record: &Record) -> Result<(), PartsError> {
        let bytes = serde_json::to_vec(record).map_err(PartsError::Json)?;
        let key = record_key(record.part)?;
        let written = self.stores.records.write(key.as_key(), &bytes, WriteMode::Replace);
        written.map_err(PartsError::store(&self.staging))
    }

    /// A summary of these variables in the order of the copy.
    pub(super) fn summary(&self, variables: Vec<VariableSummary>, elapsed: Duration) -> CopySummary {
        let mut found: BTreeMap<String, VariableSummary> =
            merged(variables).into_iter().map(|variable| (variable.path.clone(), variable)).collect();
        let in_order =
            self.source.hierarchy().variables().filter_map(|variable| found.remove(&variable.path));
        CopySummary {
            variables: in_order.collect(),
            foreign_objects: ForeignObjects::default(),
            unreadable: self.plan.unreadable().to_vec(),
            elapsed,
        }
    }
}

/// The key of the record of a part.
pub(super) fn record_key(part: usize) -> Result<KeyBuf, PartsError> {
    let text = format!("done/{part}.json");
    Key::parse(&text).map(Key::to_buf).map_err(|error| PartsError::store(&text)(error.into()))
}

fn changed(plan: &PartsPlan, what: &str) -> Result<PartsError, PartsError> {
    Ok(PartsError::SourceChanged { source_location: plan.source()?.location, what: what.to_owned() })
}

/// One summary for each variable.
pub(super) fn merged(variables: Vec<VariableSummary>) -> Vec<VariableSummary> {
    let mut all: Vec<VariableSummary> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for variable in variables {
        match positions.get(&variable.path).and_then(|&at| all.get_mut(at)) {
            Some(sum) => add(sum, variable),
            None => {
                positions.insert(variable.path.clone(), all.len());
                all.push(variable);
            }
        }
    }
    all
}

fn add(sum: &mut VariableSummary, more: VariableSummary) {
    sum.unchanged &= more.unchanged;
    sum.recoded += more.recoded;
    sum.recoding = sum.recoding.or(more.recoding);
    sum.decoded += more.decoded;
    sum.before = sum.before.zip(more.before).map(|(one, other)| one + other);
    sum.after += more.after;
    sum.chunks += more.chunks;
    sum.verified = sum.verified.zip(more.verified).map(|(one, other)| both(one, other));
}

/// In what two boxes agree with the source.
pub(super) fn both(one: Verified, other: Verified) -> Verified {
    match (one, other) {
        (Verified::Same, Verified::Same) => Verified::Same,
        (Verified::Same, repeated) | (repeated, Verified::Same) => repeated,
        (Verified::Repeated { boxes, of }, Verified::Repeated { boxes: more, of: others }) => {
            Verified::Repeated { boxes: boxes + more, of: of + others }
        }
    }
}
