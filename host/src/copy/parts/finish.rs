//! Makes a dataset of complete parts.

use std::sync::Mutex;
use std::time::Duration;
use std::{ops::ControlFlow, sync::PoisonError};

use ncz_model::{Container, DataError};
use ncz_store::{Key, ReadRange, ReadRequest, Store, StoreExt, WriteMode};

use super::super::{CopySummary, VariableSummary, Verified, advance};
use super::run::{Ends, PartWorker, Record, merged, record_key};
use super::staging::LONGEST;
use super::{PartsError, PartsPlan};
use crate::location::MARKS;
use crate::progress::{Phase, Progress};

impl PartsPlan {
    /// Makes the dataset: checks that every part is complete, writes the metadata, those of the root last, and removes
    /// what was known of the parts. With [`PartWorker::verify`] everything is compared with the source before.
    ///
    /// It can run again if it was interrupted.
    ///
    /// # Errors
    /// [`PartsError::Missing`] names the parts that are not complete; nothing is changed then.
    pub fn finish(&self, worker: &PartWorker, progress: &dyn Progress) -> Result<CopySummary, PartsError> {
        let staging = self.staging()?;
        let keys = self.record_keys()?;
        let names: Vec<String> = keys.iter().map(|key| key.as_str().to_owned()).collect();
        if let Some(target) = staging.published(self.token())? {
            self.check_published(&*target)?;
            // Only what was known of the parts is left of an earlier call.
            let records = staging.records(self.token())?;
            let (variables, elapsed) = self.records(&*records).unwrap_or_default();
            let variables = merged(variables);
            staging.remove(&*records, &names)?;
            let unreadable = self.unreadable().to_vec();
            return Ok(CopySummary { variables, foreign_objects: Default::default(), unreadable, elapsed });
        }
        let ends = Ends::open(self, worker)?;
        let (mut variables, elapsed) = self.records(&*ends.stores.records)?;
        if worker.verify {
            self.verify(&ends, &mut variables, progress)?;
        }
        let summary = ends.summary(variables, elapsed);
        let data = std::sync::Arc::clone(&ends.stores.data);
        let mut documents: Vec<(&String, &String)> = self.body.documents.iter().collect();
        // Those of the root make it a dataset; readers look for the first of the marks.
        documents.sort_by_key(|(key, _)| MARKS.iter().rev().position(|mark| mark == key).map(|at| at + 1));
        for (key, text) in documents {
            let failed = PartsError::store(&data);
            let key = Key::parse(key).map_err(|error| failed(error.into()))?;
            data.write(key, text.as_bytes(), WriteMode::Replace).map_err(failed)?;
            advance(progress, 0)?;
        }
        let Ends { copy, staging, stores, .. } = ends;
        copy.discard();
        drop(stores.data);
        staging.publish(data)?;
        staging.remove(&*stores.records, &names)?;
        Ok(summary)
    }

    /// Gives up the copy: removes what parts have written, and frees the target.
    ///
    /// # Errors
    /// The copy is finished, or the target is reserved for another plan.
    pub fn discard(&self) -> Result<(), PartsError> {
        let names: Vec<String> = self.record_keys()?.iter().map(|key| key.as_str().to_owned()).collect();
        self.staging()?.discard(self.token(), &names)
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

    /// What the parts have noted.
    ///
    /// # Errors
    /// [`PartsError::Missing`].
    fn records(&self, store: &dyn ncz_store::Store) -> Result<(Vec<VariableSummary>, Duration), PartsError> {
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
        let (mut variables, mut elapsed) = (Vec::new(), Duration::ZERO);
        for record in found.into_iter().flatten() {
            elapsed += Duration::try_from_secs_f64(record.seconds).unwrap_or_default();
            variables.extend(record.variables);
        }
        Ok((variables, elapsed))
    }

    /// Compares all parts with the source.
    fn verify(
        &self,
        ends: &Ends<'_>,
        variables: &mut [VariableSummary],
        progress: &dyn Progress,
    ) -> Result<(), PartsError> {
        super::missing_values::verify(ends.source.hierarchy(), ends.copy.hierarchy())?;
        let total = self.parts().iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        progress.begin(Phase::Verify, total);
        variables.iter_mut().for_each(|variable| variable.verified = Some(Verified::Same));
        for part in self.parts() {
            for (copy, region) in ends.copies(part)?.iter().zip(&part.regions) {
                let found = copy.verify(progress)?;
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
