//! Makes a part of a copy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ncz_model::{Container, DataError, LossyGuard, Pool, Session, ShuffleReading};
use ncz_registry::Registry;
use ncz_store::{Key, KeyBuf, Store, WriteMode};
use ncz_zarr::Dataset as ZarrDataset;
use serde::{Deserialize, Serialize};

use super::super::strings::AnyVariableCopy;
use super::super::{
    CopyError, CopySummary, ForeignObjects, Resources, VariableSummary, Verified, rechunk, run, verify,
};
use super::objects::Objects;
use super::staging::{DONE, Staging, Stores};
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
    /// The hash of the keys and lengths of the objects that it made.
    pub(super) objects: String,
    pub(super) variables: Vec<VariableSummary>,
}

/// Both sides of a copy in parts.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    plan: &'a PartsPlan,
    pub(super) source: Dataset,
    pub(super) copy: ZarrDataset,
    worker: &'a PartWorker,
}

impl PartsPlan {
    /// Checks that parts can run in this process: that it is the same version, sees source and target, and has the same
    /// codecs. Nothing is written.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, worker: &PartWorker) -> Result<(), PartsError> {
        let (_, stores) = self.open()?;
        Ends::open(self, worker, &stores.data).map(drop)
    }

    /// Makes these parts, by their numbers, one after the other. A part that was made before is made again, with the
    /// same bytes. If fewer parts were made than were asked for, there is nothing to do for the other numbers.
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
        if let Some(&part) = parts.iter().find(|part| **part >= all && !self.is_empty_part(**part)) {
            return Err(PartsError::NoSuchPart { part, parts: all });
        }
        let mut records = Vec::new();
        let mut wanted =
            parts.iter().filter_map(|number| Some((*number, self.parts().get(*number)?))).peekable();
        if wanted.peek().is_some() {
            let (staging, stores) = self.open()?;
            let unless_finished = |error| self.unless_finished(&staging, error);
            let ends = Ends::open(self, worker, &stores.data).map_err(unless_finished)?;
            for (number, part) in wanted {
                records
                    .push(ends.run((number, part), (&staging, &stores), progress).map_err(unless_finished)?);
            }
        }
        Ok(self.summary(records))
    }

    /// Where the parts are, and its stores.
    fn open(&self) -> Result<(Staging, Stores), PartsError> {
        self.check_version()?;
        let staging = self.staging()?;
        match staging.open(self.token()) {
            Ok(stores) => Ok((staging, stores)),
            Err(error) => Err(self.unless_finished(&staging, error)),
        }
    }

    /// What these parts did.
    pub(super) fn summary(&self, records: Vec<Record>) -> CopySummary {
        let elapsed =
            records.iter().map(|record| Duration::try_from_secs_f64(record.seconds).unwrap_or_default());
        CopySummary {
            elapsed: elapsed.sum(),
            variables: merged(records.into_iter().flat_map(|record| record.variables).collect()),
            foreign_objects: ForeignObjects::default(),
            unreadable: self.unreadable().to_vec(),
        }
    }

    /// The error of a step, or that the copy was finished or removed meanwhile.
    pub(super) fn unless_finished(&self, staging: &Staging, error: PartsError) -> PartsError {
        if matches!(error, PartsError::Copy(CopyError::Stopped)) {
            return error;
        }
        if self.is_finished(staging) {
            return staging.finished();
        }
        match staging.records(self.token()) {
            Err(gone @ (PartsError::NotReserved { .. } | PartsError::Unclaimed { .. })) => gone,
            _ => error,
        }
    }

    /// The error of a source that changed.
    fn changed(&self, what: &str) -> Result<PartsError, PartsError> {
        Ok(PartsError::SourceChanged { source_location: self.source()?.location, what: what.to_owned() })
    }

    /// Checks that this is the version that made the plan.
    pub(super) fn check_version(&self) -> Result<(), PartsError> {
        let here = env!("CARGO_PKG_VERSION");
        match self.body.ncz == here {
            true => Ok(()),
            false => Err(PartsError::Version { planned: self.body.ncz.clone(), here }),
        }
    }

    pub(super) fn session(&self, worker: &PartWorker) -> Session {
        Session {
            shuffle: match self.body.shuffle_size {
                None => ShuffleReading::Refuse,
                Some(ShuffleSize::Type) => ShuffleReading::TypeSize,
                Some(ShuffleSize::Stored) => ShuffleReading::AsStored,
            },
            lossy_guard: if self.body.lossy_guard { LossyGuard::On } else { LossyGuard::Off },
            ..Session::new(Arc::clone(&worker.registry), worker.pool.clone())
        }
    }
}

impl<'a> Ends<'a> {
    /// Opens both sides, and checks that they are those of the plan. `data` has the objects of the copy.
    pub(super) fn open(
        plan: &'a PartsPlan,
        worker: &'a PartWorker,
        data: &Arc<dyn Store>,
    ) -> Result<Self, PartsError> {
        let session = plan.session(worker);
        let url = plan.source()?;
        let source = url.open(session.clone())?;
        let now = source::state(&url, source.hierarchy())?;
        if let Some(what) = source::difference(&plan.body.state, &now) {
            return Err(plan.changed(what)?);
        }
        let copy = ZarrDataset::without_documents(Arc::clone(data), plan.hierarchy()?, session);
        let has = |path: &str| copy.hierarchy().variable(path).is_ok();
        let differences = codecs::used(&source, &copy, &has);
        let differences = codecs::differences(&plan.body.codecs, &differences?);
        if !differences.is_empty() {
            return Err(PartsError::Codecs { differences });
        }
        Ok(Self { plan, source, copy, worker })
    }

    /// Makes a part, compares it if requested, and notes that it is complete.
    fn run(
        &self,
        (number, part): (usize, &Part),
        (staging, stores): (&Staging, &Stores),
        progress: &dyn Progress,
    ) -> Result<Record, PartsError> {
        let start = Instant::now();
        self.check_source(part)?;
        let copies = self.copies(part)?;
        let mut variables = run(&copies, progress)?;
        if self.plan.body.verify || self.worker.verify {
            verify(&copies, &mut variables, progress)?;
        }
        // What was read while the source changed is of neither version.
        self.check_source(part)?;
        let objects = Objects::new(&self.copy, false).hash(part)?;
        staging.sync()?;
        let record = Record {
            token: self.plan.token().to_owned(),
            part: number,
            seconds: start.elapsed().as_secs_f64(),
            objects,
            variables: merged(variables),
        };
        // A note of a copy that is finished would be left.
        staging.records(self.plan.token())?;
        let bytes = serde_json::to_vec(&record).map_err(PartsError::Json)?;
        let written = stores.records.write(record_key(number)?.as_key(), &bytes, WriteMode::Replace);
        written.map_err(PartsError::store(staging))?;
        Ok(record)
    }

    /// Checks that what a part reads is what the plan was made of.
    pub(super) fn check_source(&self, part: &Part) -> Result<(), PartsError> {
        if source::file(&self.plan.source()?)? != self.plan.body.state.file {
            return Err(self.plan.changed(source::OTHER_FILE)?);
        }
        match source::has_same_objects(&self.source, &self.plan.selection(), part)? {
            true => Ok(()),
            false => Err(self.plan.changed("chunks that a part reads are other versions")?),
        }
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
}

/// The key of the record of a part.
pub(super) fn record_key(part: usize) -> Result<KeyBuf, PartsError> {
    let text = format!("{DONE}/{part}.json");
    Key::parse(&text).map(Key::to_buf).map_err(|error| PartsError::store(&text)(error.into()))
}

/// One summary for each variable.
fn merged(variables: Vec<VariableSummary>) -> Vec<VariableSummary> {
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
