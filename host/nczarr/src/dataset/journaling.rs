//! Growth that outlives an interruption: the journal around the writing of new lengths, and what opening found.

use ncz_store::{Key, Store, StoreError, WriteMode};
use serde_json::Value as Json;

use super::Dataset;
use crate::data_error::DataError;
use crate::journal::{self, Appending, Interrupted, Journal, Lengths, Recovery, Redo};
use crate::limits;

/// What is known of the journal in the store.
#[derive(Debug, Default)]
pub(super) struct Journaling {
    /// The id of the journals that are written here; made with the first.
    id: Option<String>,
    /// The id of the journal that is in the store and may be replaced: ours, or that of a finished append.
    held: Option<String>,
    /// It may be gone: removing it has failed.
    may_be_gone: bool,
    /// What is being appended.
    append: Option<Appending>,
    /// What opening the dataset finished, or gave up.
    recovered: Option<Interrupted>,
}

/// A journal that is still there though the append is complete, so that the same append, run again, is known to have
/// been made. Whoever has said that it is complete removes it: [`confirm`](Self::confirm).
#[derive(Debug)]
#[must_use = "until the receipt is confirmed, the same append is taken for made"]
pub struct Receipt {
    id: Option<String>,
}

impl Receipt {
    /// Removes the journal from the store of the dataset, if it is still there.
    ///
    /// # Errors
    /// The store fails; the journal stays, and the next program that writes something else removes it.
    pub fn confirm(self, store: &dyn Store) -> Result<(), DataError> {
        self.id.map_or(Ok(()), |id| journal::remove(store, &id))
    }
}

impl Journaling {
    /// Finishes what was interrupted, or gives it up. What another is at work on is left alone until something is to be
    /// written.
    pub(super) fn on_opening(store: &dyn Store) -> Result<Self, DataError> {
        Ok(match journal::recover(store)? {
            Recovery::Unneeded | Recovery::Busy(_) | Recovery::Impossible(_) => Self::default(),
            Recovery::Settled(interrupted, id) => {
                let held = id.filter(|_| interrupted.append.is_some());
                Self { held, recovered: Some(interrupted), ..Self::default() }
            }
        })
    }

    fn is_ours(&self) -> bool {
        self.held.is_some() && self.held == self.id
    }
}

impl Dataset {
    /// The interrupted growth that was finished, or given up, when the dataset was opened for writing.
    #[must_use]
    pub fn recovered(&self) -> Option<&Interrupted> {
        self.journaling.recovered.as_ref()
    }

    /// The receipt of an append that was interrupted, and finished when the dataset was opened: for one who finds that
    /// it is the one that was to be made. Any other growth, or change, removes its journal, too.
    pub fn recovered_receipt(&self) -> Receipt {
        Receipt { id: self.journaling.held.clone().filter(|_| !self.journaling.is_ours()) }
    }

    /// Growth of the dataset in the store that is not finished, or was interrupted: see [`journal`](crate::journal).
    ///
    /// # Errors
    /// The store fails; a journal that cannot be read.
    pub fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        journal::interrupted(&*self.store)
    }

    /// Whether the journal in the store is still the one that this dataset wrote.
    #[must_use]
    pub fn holds_journal(&self) -> bool {
        let held = self.journaling.held.as_deref();
        held.is_some_and(|held| matches!(journal::read(&*self.store), Ok(Some(there)) if there.id == held))
    }

    /// Says what will be appended, before the first of its chunks is written: the journal that keeps others from
    /// appending, and tells the next program of an interruption. [`finish_append`](Self::finish_append) ends it.
    ///
    /// # Errors
    /// [`DataError::Busy`] where another appends; [`DataError::Journal`]; the store fails.
    pub fn begin_append(&mut self, append: Appending) -> Result<(), DataError> {
        self.check_writable()?;
        self.put_journal(Some(&append), Vec::new(), None)?;
        self.journaling.append = Some(append);
        Ok(())
    }

    /// As [`finish`](Self::finish), for an append. Its journal stays until the receipt is confirmed.
    ///
    /// # Errors
    /// As there. The same append can be run again: what is in place by then is known.
    pub fn finish_append(mut self) -> Result<Receipt, DataError> {
        let id = self.journaling.held.clone();
        let published = self.publish();
        self.discard();
        published.map(|()| Receipt { id })
    }

    /// Takes care that an interruption from here on is seen: before documents are replaced that give lengths to
    /// variables.
    pub(super) fn begin_lengths(
        &mut self,
        lengths: Vec<Lengths>,
        documents: Vec<Redo>,
    ) -> Result<(), DataError> {
        let append = self.journaling.append.clone();
        self.put_journal(append.as_ref(), lengths, Some(documents))?;
        // The journal is on the disk before the first document is.
        self.sync()
    }

    /// Whether new lengths have to be journaled. What is published as a whole needs it only where it can be made twice.
    pub(super) fn is_journaled(&self) -> bool {
        !self.store.capabilities().deferred_writes || self.journaling.append.is_some()
    }

    /// Removes the journal when all that it is about is written and durable; that of an append stays.
    pub(super) fn end_lengths(&mut self) -> Result<(), DataError> {
        if !self.journaling.is_ours() || self.journaling.append.is_some() {
            return Ok(());
        }
        self.remove_journal()
    }

    /// Removes the journal of an append that was finished when the dataset was opened: something else is written now.
    pub(super) fn forget_append(&mut self) -> Result<(), DataError> {
        match self.journaling.is_ours() {
            true => Ok(()),
            false => self.remove_journal(),
        }
    }

    fn remove_journal(&mut self) -> Result<(), DataError> {
        let Some(id) = &self.journaling.held else { return Ok(()) };
        self.journaling.may_be_gone = true;
        journal::remove(&*self.store, id)?;
        self.journaling.may_be_gone = false;
        self.journaling.held = None;
        Ok(())
    }

    /// Writes the journal: a new one, or in the place of one that is known to be over.
    fn put_journal(
        &mut self,
        append: Option<&Appending>,
        lengths: Vec<Lengths>,
        documents: Option<Vec<Redo>>,
    ) -> Result<(), DataError> {
        let id = self.journaling.id.get_or_insert_with(journal::new_id).clone();
        let whole = self.store.capabilities().deferred_writes;
        let bytes = Journal::new(id.clone(), append.cloned(), lengths, documents, whole).to_bytes();
        if bytes.len() as u64 > limits::JOURNAL_BYTES {
            let reason = format!(
                "it would have {} bytes, {} are the most; do not consolidate the metadata",
                bytes.len(),
                limits::JOURNAL_BYTES
            );
            return Err(DataError::Journal { store: self.store.to_string(), reason });
        }
        let mode = match &self.journaling.held {
            Some(held) => match journal::read(&*self.store)? {
                Some(there) if there.id == *held => WriteMode::Replace,
                // Another program has taken this one for dead, or has removed what was over.
                _ if self.journaling.is_ours() && !self.journaling.may_be_gone => {
                    return Err(self.journal_changed());
                }
                _ => WriteMode::CreateNew,
            },
            None => WriteMode::CreateNew,
        };
        let put = |mode| self.store.write(Key::JOURNAL, &bytes, mode);
        match put(mode) {
            Err(StoreError::AlreadyExists { .. }) if mode == WriteMode::CreateNew => {
                let mode = self.check_over(&id, append)?;
                put(mode)
            }
            other => other,
        }
        .map_err(|source| self.store_error(source))?;
        self.journaling.held = Some(id);
        self.journaling.may_be_gone = false;
        Ok(())
    }

    /// How to write a journal where there is one that was not there, or not over, when the dataset was opened.
    ///
    /// # Errors
    /// It is of a program that runs, or may run; or the dataset has changed.
    fn check_over(&self, id: &str, append: Option<&Appending>) -> Result<WriteMode, DataError> {
        let Some(there) = journal::read(&*self.store)? else { return Ok(WriteMode::CreateNew) };
        // An answer was lost; or the same append was begun elsewhere, which writes the same chunks.
        if there.id == id || append.is_some_and(|append| there.is_doubtful() && there.is_of(append)) {
            return Ok(WriteMode::Replace);
        }
        match journal::recover(&*self.store)? {
            Recovery::Unneeded | Recovery::Settled(_, None) => Ok(WriteMode::CreateNew),
            Recovery::Settled(..) => Err(self.journal_changed()),
            Recovery::Busy(interrupted) => {
                let (store, interrupted) = (self.store.to_string(), Box::new(interrupted));
                Err(DataError::Busy { store, interrupted })
            }
            Recovery::Impossible(error) => Err(error),
        }
    }

    fn journal_changed(&self) -> DataError {
        DataError::Changed { store: self.store.to_string(), key: Key::JOURNAL.to_string() }
    }
}

/// The shapes in two forms of a variable's document, if they differ.
pub(super) fn lengths(variable: &str, old: Option<&Json>, new: Option<&Json>) -> Option<Lengths> {
    let lens =
        |shape: Option<&Json>| -> Option<Vec<u64>> { shape?.as_array()?.iter().map(Json::as_u64).collect() };
    let (old, new) = (lens(old)?, lens(new)?);
    (old != new).then(|| Lengths { variable: variable.to_owned(), old, new })
}
