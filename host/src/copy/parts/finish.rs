//! Makes a dataset of complete parts.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use ncz_model::{Container, DataError};
use ncz_store::{Key, ReadRange, ReadRequest, Store, StoreExt, WriteMode};
use ncz_zarr::Dataset as ZarrDataset;

use super::super::{CopyError, CopySummary, VariableSummary, Verified, advance};
use super::objects::Objects;
use super::run::{Ends, PartWorker, Record, record_key};
use super::staging::{LONGEST, Staging, Stores};
use super::{PartsError, PartsPlan};
use crate::location::MARKS;
use crate::progress::{Phase, Progress};

/// A copy in parts that is finished.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What was copied.
    pub summary: CopySummary,
    /// Whether another call has finished the copy; the summary then has no variables, since what was known of the parts
    /// is removed.
    pub before: bool,
}

impl PartsPlan {
    /// Makes the dataset: checks that every part is complete and has its objects in their lengths, writes the metadata,
    /// those of the root last, and removes what was known of the parts. The source is read only with
    /// [`PartWorker::verify`]: everything is compared with it before.
    ///
    /// It can run again if it was interrupted, and with [`PartWorker::verify`] if the copy is finished already.
    ///
    /// # Errors
    /// [`PartsError::Missing`] names the parts that are not complete; nothing is changed then. [`PartsError::Finished`]:
    /// nothing is known of the parts any more, and the values at the target are not compared.
    pub fn finish(&self, worker: &PartWorker, progress: &dyn Progress) -> Result<Finished, PartsError> {
        self.check_version()?;
        let staging = self.staging()?;
        if let Some(finished) = self.finished(&staging, worker, false, progress)? {
            return Ok(finished);
        }
        let completed = self.complete(&staging, worker, progress).and_then(|(summary, stores)| {
            staging.publish(stores.data)?;
            Ok((summary, stores.records))
        });
        let (summary, records) = match completed.map_err(|error| self.unless_finished(&staging, error)) {
            // Another call has done it at the same time.
            Err(error @ PartsError::Finished { .. }) => {
                return self.finished(&staging, worker, true, progress)?.ok_or(error);
            }
            completed => completed?,
        };
        staging.settle_target()?;
        staging.remove(&*records, &self.record_names()?)?;
        Ok(Finished { summary, before: false })
    }

    /// What is known of a copy that another call has made the target. What that call has left of its parts is removed.
    /// `is_seen` says that the target was still reserved when this call began.
    ///
    /// # Errors
    /// [`PartsError::Finished`] if only the metadata speak for it: any dataset can have those.
    fn finished(
        &self,
        staging: &Staging,
        worker: &PartWorker,
        is_seen: bool,
        progress: &dyn Progress,
    ) -> Result<Option<Finished>, PartsError> {
        let Some(target) = staging.unreserved(self.token())? else { return Ok(None) };
        let records = staging.records(self.token());
        if let Err(other) = self.check_published(&*target) {
            return Err(records.err().unwrap_or(other));
        }
        let records = records.ok();
        let noted = records.as_ref().and_then(|records| self.records(&**records).ok());
        let before = noted.is_none();
        let mut summary = self.summary(noted.unwrap_or_default());
        if worker.verify {
            self.verify(worker, (&target, true), &mut summary.variables, progress)?;
        } else if before && !is_seen {
            return Err(staging.finished());
        }
        if let Some(records) = &records {
            staging.settle_target()?;
            staging.remove(&**records, &self.record_names()?)?;
        }
        Ok(Some(Finished { summary, before }))
    }

    /// Checks the parts, and writes the metadata.
    fn complete(
        &self,
        staging: &Staging,
        worker: &PartWorker,
        progress: &dyn Progress,
    ) -> Result<(CopySummary, Stores), PartsError> {
        let stores = staging.open(self.token())?;
        let data = &stores.data;
        let records = self.records(&*stores.records)?;
        self.check_objects(&records, Arc::clone(data), worker)?;
        let mut summary = self.summary(records);
        if worker.verify {
            self.verify(worker, (data, false), &mut summary.variables, progress)?;
        }
        let mut documents: Vec<(&String, &String)> = self.body.documents.iter().collect();
        // Those of the root make it a dataset; readers look for the first of the marks.
        documents.sort_by_key(|(key, _)| MARKS.iter().rev().position(|mark| mark == key).map(|at| at + 1));
        for (key, text) in documents {
            let failed = PartsError::store(data);
            let key = Key::parse(key).map_err(|error| failed(error.into()))?;
            data.write(key, text.as_bytes(), WriteMode::Replace).map_err(failed)?;
            advance(progress, 0)?;
        }
        Ok((summary, stores))
    }

    /// Gives up the copy: removes what parts have written, and frees the target.
    ///
    /// # Errors
    /// The copy is finished, or the target is reserved for another plan.
    pub fn discard(&self) -> Result<(), PartsError> {
        let staging = self.staging()?;
        let discarded = staging.discard(self.token(), &self.record_names()?);
        discarded.map_err(|error| self.unless_finished(&staging, error))
    }

    /// Whether a dataset with the metadata of the copy is at the target, and nothing of it beside the target but records.
    pub(super) fn is_finished(&self, staging: &Staging) -> bool {
        let target = staging.unreserved(self.token()).ok().flatten();
        target.is_some_and(|target| self.check_published(&*target).is_ok())
    }

    /// Checks that each part has the objects that were noted, in their lengths.
    fn check_objects(
        &self,
        records: &[Record],
        data: Arc<dyn Store>,
        worker: &PartWorker,
    ) -> Result<(), PartsError> {
        let copy = ZarrDataset::without_documents(data, self.hierarchy()?, self.session(worker));
        let mut objects = Objects::new(&copy, true);
        let mut missing = Vec::new();
        for ((number, part), record) in self.parts().iter().enumerate().zip(records) {
            if objects.hash(part)? != record.objects {
                missing.push(number);
            }
        }
        copy.discard();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(PartsError::Missing { parts: missing, of: records.len() }),
        }
    }

    /// Checks that the documents at the target are those of the copy.
    fn check_published(&self, target: &dyn Store) -> Result<(), PartsError> {
        for (key, text) in &self.body.documents {
            let failed = PartsError::store(target);
            let key = Key::parse(key).map_err(|error| failed(error.into()))?;
            if target.read_vec(key, LONGEST).map_err(failed)?.as_deref() != Some(text.as_bytes()) {
                return Err(PartsError::OtherPlan { staging: target.to_string() });
            }
        }
        Ok(())
    }

    fn record_keys(&self) -> Result<Vec<ncz_store::KeyBuf>, PartsError> {
        (0..self.parts().len()).map(record_key).collect()
    }

    fn record_names(&self) -> Result<Vec<String>, PartsError> {
        Ok(self.record_keys()?.iter().map(|key| key.as_str().to_owned()).collect())
    }

    /// What the parts have noted, in their order.
    ///
    /// # Errors
    /// [`PartsError::Missing`].
    fn records(&self, store: &dyn ncz_store::Store) -> Result<Vec<Record>, PartsError> {
        let keys = self.record_keys()?;
        let request = |key| ReadRequest { key, range: ReadRange::All, max_len: LONGEST };
        let requests: Vec<ReadRequest<'_>> = keys.iter().map(|key| request(key.as_key())).collect();
        let found: Mutex<Vec<Option<Record>>> = Mutex::new(keys.iter().map(|_| None).collect());
        let failed: Mutex<Option<ncz_store::StoreError>> = Mutex::new(None);
        store.read_many(&requests, &|at, answer| match answer {
            Ok(bytes) => {
                let record: Option<Record> = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
                let record = record.filter(|record| record.token == self.token() && record.part == at);
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(place) = found.get_mut(at) {
                    *place = record;
                }
                ControlFlow::Continue(())
            }
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        });
        if let Some(source) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(DataError::Store { store: store.to_string(), source }.into());
        }
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<usize> =
            found.iter().enumerate().filter(|(_, record)| record.is_none()).map(|(at, _)| at).collect();
        if !missing.is_empty() {
            return Err(PartsError::Missing { parts: missing, of: found.len() });
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Compares all parts with the source. `data` has the objects of the copy, which may be at the target already.
    fn verify(
        &self,
        worker: &PartWorker,
        (data, is_at_target): (&Arc<dyn Store>, bool),
        variables: &mut [VariableSummary],
        progress: &dyn Progress,
    ) -> Result<(), PartsError> {
        let ends = Ends::open(self, worker, data)?;
        super::missing_values::verify(ends.source.hierarchy(), ends.copy.hierarchy())?;
        let total = self.parts().iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        progress.begin(Phase::Verify, total);
        variables.iter_mut().for_each(|variable| variable.verified = Some(Verified::Same));
        for (number, part) in self.parts().iter().enumerate() {
            ends.check_source(part)?;
            for (copy, region) in ends.copies(part)?.iter().zip(&part.regions) {
                let found = match copy.verify(progress) {
                    Ok(found) => found,
                    // A source that changes meanwhile is not a codec that is wrong.
                    Err(error) => {
                        let differs = || match error {
                            CopyError::Stopped => error.into(),
                            source => {
                                let source = Box::new(source);
                                PartsError::Differs { part: number, is_at_target, source }
                            }
                        };
                        return Err(ends.check_source(part).err().unwrap_or_else(differs));
                    }
                };
                let same = |variable: &&mut VariableSummary| variable.path == region.variable;
                if let Some(variable) = variables.iter_mut().find(same) {
                    variable.verified =
                        Some(super::run::both(variable.verified.unwrap_or(Verified::Same), found));
                }
            }
        }
        Ok(())
    }
}
