//! Repairs the errors of known writers: metadata that other programs misread, and what netcdf-c leaves when it
//! writes a shorter object in place.
//!
//! A [`Plan`] says what would be done. It is carried out in place, each object replaced whole, or looked at through
//! [`Plan::view`], as if it had been carried out, and copied to a new dataset from there.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ncz::model::{Pool, Session};
//! use ncz::registry::Registry;
//! use ncz::repair::{Choices, plan};
//! use ncz::store::{Key, MemoryStore, Store, StoreExt, WriteMode};
//!
//! let store = Arc::new(MemoryStore::new("x"));
//! let zarray = br#"{"zarr_format": 2, "shape": [2], "dtype": "<i4", "chunks": [2], "fill_value": [0], "order": "C", "compressor": null, "filters": null}"#;
//! store.write(Key::parse(".zgroup")?, br#"{"zarr_format": 2}"#, WriteMode::Replace)?;
//! store.write(Key::parse("v/.zarray")?, zarray, WriteMode::Replace)?;
//!
//! let session = Session::new(Arc::new(Registry::builder().build()), Pool::serial());
//! let plan = plan(store.clone(), &session, &Choices::default(), &())?;
//! assert_eq!(plan.steps[0].finding.code.id(), "fill-list");
//! plan.apply()?;
//! let repaired = store.read_vec(Key::parse("v/.zarray")?, 1 << 20)?.unwrap();
//! assert!(String::from_utf8(repaired)?.contains(r#""fill_value": 0,"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod repaired_store;

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz_model::Reached;
use ncz_model::{DataError, Session, limits};
use ncz_store::{Key, Store, StoreError, StoreExt, WriteMode};
use ncz_zarr::Dataset;
use ncz_zarr::journal;
use ncz_zarr::metadata::document;

pub use crate::documents::{Choices, Step, survey};

use self::repaired_store::RepairedStore;
use crate::causes::with_causes;
use crate::documents::{self, Examined};
use crate::finding::{Code, Finding, Remedy, Severity};
use crate::progress::Progress;
use crate::verify::{VerifyError, VerifyOptions, sound_len, verify};

/// What is to be done with a dataset.
#[derive(Debug)]
pub struct Plan {
    /// What is repaired.
    pub steps: Vec<Step>,
    /// What is found and is not repaired.
    pub left: Vec<Finding>,
    /// Why the dataset does not open even when all this is done.
    pub closed: Option<DataError>,
    store: Arc<dyn Store>,
    /// Documents: before and after.
    documents: BTreeMap<String, (Vec<u8>, Vec<u8>)>,
    /// Chunks to cut: lengths before and after.
    cuts: BTreeMap<String, (u64, u64)>,
    /// What finishes interrupted growth; the documents are repaired as they are afterwards.
    redone: Option<BTreeMap<String, Vec<u8>>>,
}

/// Why a dataset was not repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The store failed. Each object is as it was, or repaired.
    #[error("the dataset in {store}")]
    Store {
        /// The store.
        store: String,
        /// What happened.
        source: StoreError,
    },
    /// An object is no longer what it was when the plan was made.
    #[error("{key:?} was changed by another program meanwhile; nothing more was done, look again")]
    Changed {
        /// The object.
        key: String,
    },
    /// A byte order was chosen, but there is nothing to choose.
    #[error("the byte order of variable {path:?} is not in doubt, or there is no such variable")]
    NoChoice {
        /// The path.
        path: String,
    },
    /// Looking for faults failed.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The documents could not be looked at.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl RepairError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Data(error) => error.remedy(),
            Self::Verify(error) => error.remedy(),
            _ => None,
        }
    }
}

/// Looks for what is wrong with the dataset in a store, whether or not it opens, and says what can be done about it.
/// Nothing is written.
///
/// # Errors
/// See [`RepairError`]. What is wrong with the dataset is not an error but part of the plan.
pub fn plan(
    store: Arc<dyn Store>,
    session: &Session,
    choices: &Choices,
    progress: &dyn Progress,
) -> Result<Plan, RepairError> {
    let (mut settled, redone) = match journal::redo_documents(&*store) {
        Ok(None) => (Vec::new(), None),
        Ok(Some((interrupted, _))) if interrupted.running == Some(true) => {
            let (store, interrupted) = (store.to_string(), Box::new(interrupted));
            return Err(DataError::Busy { store, interrupted }.into());
        }
        Ok(Some((interrupted, redone))) => {
            let finding = Finding::interrupted(&interrupted);
            (vec![Step { finding, action: action(&interrupted.reached).to_owned() }], Some(redone))
        }
        Err(error @ DataError::Journal { .. }) => {
            let finding = Finding::new(Severity::Warning, Code::Interrupted, with_causes(&error));
            let finding = finding.key(Key::JOURNAL.as_str()).remedy(Remedy::Repair);
            (vec![Step { finding, action: LEFT.to_owned() }], Some(Vec::new()))
        }
        Err(error) => return Err(error.into()),
    };
    let is_settled = redone.is_some();
    let (redone, deleted): (Vec<_>, Vec<_>) =
        redone.into_iter().flatten().partition(|(_, bytes)| bytes.is_some());
    let redone: BTreeMap<String, Vec<u8>> =
        redone.into_iter().filter_map(|(key, bytes)| Some((key, bytes?))).collect();
    let after = RepairedStore::new(Arc::clone(&store), redone.clone(), BTreeMap::new());
    let Examined { steps, left, mut changed } = documents::examine(&after, choices)?;
    changed.retain(|key, _| deleted.iter().all(|(gone, _)| gone != key));
    settled.extend(steps);
    let (steps, redone) = (settled, is_settled.then_some(redone));
    for path in choices.byte_orders.keys() {
        let code =
            |finding: &Finding| matches!(finding.code, Code::ByteOrderMissing | Code::ByteOrderDoubtful);
        let is_meant = |finding: &Finding| code(finding) && finding.variable.as_ref() == Some(path);
        if !steps.iter().any(|step| is_meant(&step.finding)) && !documents::is_big_by_choice(&*store, path)? {
            return Err(RepairError::NoChoice { path: path.clone() });
        }
    }
    let cuts = BTreeMap::new();
    let mut plan = Plan { steps, left, closed: None, store, documents: changed, cuts, redone };
    let session = Session { shuffle: choices.shuffle, ..session.clone() };
    let dataset = match Dataset::open(plan.view(), session, &choices.read) {
        Ok(dataset) => dataset,
        Err(error) => {
            plan.closed = Some(error);
            return Ok(plan);
        }
    };
    let everything = VerifyOptions { keep: usize::MAX, ..VerifyOptions::default() };
    let report = verify(&dataset, &everything, progress)?;
    // What the documents' examination has left is found again.
    plan.left.clear();
    for finding in report.findings {
        match plan.cut(&dataset, &finding)? {
            Some(step) => plan.steps.push(step),
            None => plan.left.push(finding),
        }
    }
    Ok(plan)
}

/// What is done with the journal of growth that cannot be finished.
const LEFT: &str = "the journal is removed, and each document is left as it is";

/// What is done with interrupted growth.
fn action(reached: &Reached) -> &'static str {
    match reached {
        Reached::Data => "it is given up: the journal is removed",
        Reached::Lengths => {
            "the documents that are still old get the new lengths, and the journal is removed"
        }
        Reached::All => "the journal is removed",
        _ => LEFT,
    }
}

impl Plan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.cuts.is_empty() && self.redone.is_none()
    }

    /// The dataset's store as it is when the plan is carried out, for reading.
    #[must_use]
    pub fn view(&self) -> Arc<dyn Store> {
        let mut replaced = self.redone.clone().unwrap_or_default();
        replaced.extend(self.documents.iter().map(|(key, (_, new))| (key.clone(), new.clone())));
        let cut = self.cuts.iter().map(|(key, (_, new))| (key.clone(), *new)).collect();
        Arc::new(RepairedStore::new(Arc::clone(&self.store), replaced, cut))
    }

    /// Carries out the plan in place: first interrupted growth is finished or discarded, then come chunks, then
    /// documents, `.zmetadata` last. Each object is replaced whole; an object that changed since the plan was made
    /// stops it.
    ///
    /// # Errors
    /// See [`RepairError`]. After a failure or a crash each object is as it was, or repaired, and either reads as
    /// before or better.
    pub fn apply(&self) -> Result<(), RepairError> {
        if self.redone.is_some() {
            journal::finish_or_discard(&*self.store)?;
        }
        for (key, (before, after)) in &self.cuts {
            let most = (*before).min(limits::CHUNK_BYTES.saturating_mul(2));
            let bytes = self.read(key, most)?;
            let kept = usize::try_from(*after).ok().and_then(|after| bytes.as_ref()?.get(..after));
            match (&bytes, kept) {
                (Some(bytes), Some(kept)) if bytes.len() as u64 == *before => self.write(key, kept)?,
                _ => return Err(RepairError::Changed { key: key.clone() }),
            }
        }
        if !self.cuts.is_empty() {
            self.store.sync().map_err(|source| self.failed(source))?;
        }
        // Consolidated metadata say what the documents say, so they come when these are there.
        let (last, first): (Vec<_>, Vec<_>) =
            self.documents.iter().partition(|(key, _)| *key == document::ZMETADATA);
        for batch in [first, last] {
            for (key, (before, after)) in batch {
                if self.read(key, document::max_bytes(key) as u64)?.as_ref() != Some(before) {
                    return Err(RepairError::Changed { key: key.clone() });
                }
                self.write(key, after)?;
            }
            self.store.sync().map_err(|source| self.failed(source))?;
        }
        // An archive is replaced as a whole.
        self.store.publish().map_err(|source| self.failed(source))
    }

    /// The step that repairs the chunk of a finding, if it can be repaired.
    fn cut(&mut self, dataset: &Dataset, finding: &Finding) -> Result<Option<Step>, RepairError> {
        let (Some(variable), Some(index), Some(key), Some(Remedy::Repair)) =
            (&finding.variable, &finding.chunk, &finding.key, finding.remedy)
        else {
            return Ok(None);
        };
        let array = dataset.array(variable)?;
        let mut chunk = vec![0; array.chain().chunk_len()];
        let Err(DataError::Chunk { source, .. }) = array.read_chunk(&mut array.worker(), index, &mut chunk)
        else {
            return Ok(None);
        };
        let Some(after) = sound_len(&array, &*self.store, key, &source, &mut chunk) else { return Ok(None) };
        let parsed = Key::parse(key).map_err(|source| self.failed(source.into()))?;
        let Some(before) = self.store.len(parsed).map_err(|source| self.failed(source))? else {
            return Ok(None);
        };
        self.cuts.insert(key.clone(), (before, after));
        let action = format!("it is cut from {before} to {after} bytes, which decode to a whole chunk");
        Ok(Some(Step { finding: finding.clone(), action }))
    }

    fn read(&self, key: &str, most: u64) -> Result<Option<Vec<u8>>, RepairError> {
        let key = Key::parse(key).map_err(|source| self.failed(source.into()))?;
        match self.store.read_vec(key, most) {
            Err(StoreError::TooLarge { .. }) => Err(RepairError::Changed { key: key.as_str().to_owned() }),
            other => other.map_err(|source| self.failed(source)),
        }
    }

    fn write(&self, key: &str, bytes: &[u8]) -> Result<(), RepairError> {
        let key = Key::parse(key).map_err(|source| self.failed(source.into()))?;
        self.store.write(key, bytes, WriteMode::Replace).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: StoreError) -> RepairError {
        RepairError::Store { store: self.store.to_string(), source }
    }
}
