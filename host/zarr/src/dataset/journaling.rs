//! Growth that survives an interruption: the journal of new lengths, and its recovery on opening.

use ncz_model::json::Json;
use ncz_model::{Appending, DataError, Interrupted, Lengths, limits};
use ncz_store::{Key, Store, StoreError, WriteMode};

use super::Dataset;
use crate::journal::{self, Journal, Recovery, Redo};

/// The known state of the journal in the store.
#[derive(Debug, Default)]
pub(super) struct Journaling {
    /// The id of the journals that this dataset writes; made with the first one.
    id: Option<String>,
    /// The id of the journal in the store that may be replaced: this dataset's, or that of a finished append.
    held: Option<String>,
    /// Whether it may not exist any more: removing it has failed.
    may_be_gone: bool,
    /// The append in progress.
    append: Option<Appending>,
    /// The growth that opening the dataset finished or discarded.
    recovered: Option<Interrupted>,
}

/// The journal of a complete append. It is kept in the store, so that a repeated run of the same append is recognized.
/// After reporting that the append is complete, remove it with [`confirm`](Self::confirm).
#[derive(Debug)]
#[must_use = "until the receipt is confirmed, the same append counts as done"]
pub struct Receipt {
    id: Option<String>,
}

impl Receipt {
    /// Removes the journal from the store of the dataset, if it still exists.
    ///
    /// # Errors
    /// The store fails; the journal stays, and the next program that writes other data removes it.
    pub fn confirm(self, store: &dyn Store) -> Result<(), DataError> {
        self.id.map_or(Ok(()), |id| journal::remove(store, &id))
    }
}

impl Journaling {
    /// Finishes interrupted growth, or discards it. Growth that another program is making is not touched until data are
    /// to be written.
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
    /// The interrupted growth that was finished or discarded when the dataset was opened for writing.
    #[must_use]
    pub fn recovered(&self) -> Option<&Interrupted> {
        self.journaling.recovered.as_ref()
    }

    /// The receipt of an append that was interrupted, and finished when the dataset was opened: for a caller that was
    /// about to make the same append. Any other growth or change also removes its journal.
    pub fn recovered_receipt(&self) -> Receipt {
        Receipt { id: self.journaling.held.clone().filter(|_| !self.journaling.is_ours()) }
    }

    /// Returns growth of the dataset in the store that is not finished, or was interrupted: see
    /// [`journal`](crate::journal).
    ///
    /// # Errors
    /// The store fails, or the journal cannot be read.
    pub fn interrupted(&self) -> Result<Option<Interrupted>, DataError> {
        journal::interrupted(&*self.store)
    }

    /// Whether the journal in the store is still the one that this dataset wrote.
    #[must_use]
    pub fn holds_journal(&self) -> bool {
        let held = self.journaling.held.as_deref();
        held.is_some_and(|held| matches!(journal::read(&*self.store), Ok(Some(there)) if there.id == held))
    }

    /// Writes the journal of an append, before the first of its chunks is written. The journal prevents other programs
    /// from appending, and records an interruption for the next program. [`finish_append`](Self::finish_append) ends
    /// it.
    ///
    /// # Errors
    /// [`DataError::Busy`] if another program is appending; [`DataError::Journal`]; or the store fails.
    pub fn begin_append(&mut self, append: Appending) -> Result<(), DataError> {
        self.check_writable()?;
        self.put_journal(Some(&append), Vec::new(), None)?;
        self.journaling.append = Some(append);
        Ok(())
    }

    /// Finishes an append, like [`finish`](Self::finish). Its journal stays until the receipt is confirmed.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish). The same append can be run again: the written parts are recognized.
    pub fn finish_append(mut self) -> Result<Receipt, DataError> {
        let id = self.journaling.held.clone();
        let published = self.publish();
        self.discard();
        published.map(|()| Receipt { id })
    }

    /// Writes the journal that reveals an interruption from here on. Called before documents with lengths of variables
    /// are replaced.
    pub(super) fn begin_lengths(
        &mut self,
        lengths: Vec<Lengths>,
        documents: Vec<Redo>,
    ) -> Result<(), DataError> {
        let append = self.journaling.append.clone();
        self.put_journal(append.as_ref(), lengths, Some(documents))?;
        // The journal is on disk before the first document.
        self.sync()
    }

    /// Whether new lengths must be journaled. A store that is published as a whole needs a journal only for appends,
    /// which could be made twice.
    pub(super) fn is_journaled(&self) -> bool {
        !self.store.capabilities().deferred_writes || self.journaling.append.is_some()
    }

    /// Removes the journal after all that it describes is written and durable; the journal of an append stays.
    pub(super) fn end_lengths(&mut self) -> Result<(), DataError> {
        if !self.journaling.is_ours() || self.journaling.append.is_some() {
            return Ok(());
        }
        self.remove_journal()
    }

    /// Removes the journal of an append that was finished when the dataset was opened, because other data are written
    /// now.
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

    /// Writes the journal: a new one, or one that replaces a finished one.
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
                "it would have {} bytes, the limit is {}; do not consolidate the metadata",
                bytes.len(),
                limits::JOURNAL_BYTES
            );
            return Err(DataError::Journal { store: self.store.to_string(), reason });
        }
        let mode = match &self.journaling.held {
            Some(held) => match journal::read(&*self.store)? {
                Some(there) if there.id == *held => WriteMode::Replace,
                // Another program has assumed that this one is dead, or has removed a finished journal.
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

    /// Returns how to write a journal if the store has one that did not exist, or was not finished, when the dataset
    /// was opened.
    ///
    /// # Errors
    /// It belongs to a program that is or may be running; or the dataset has changed.
    fn check_over(&self, id: &str, append: Option<&Appending>) -> Result<WriteMode, DataError> {
        let Some(there) = journal::read(&*self.store)? else { return Ok(WriteMode::CreateNew) };
        // A response was lost; or the same append was begun elsewhere, which writes the same chunks.
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

/// Returns the shapes in two versions of a variable's document, if they differ.
pub(super) fn lengths(variable: &str, old: Option<&Json>, new: Option<&Json>) -> Option<Lengths> {
    let lens =
        |shape: Option<&Json>| -> Option<Vec<u64>> { shape?.as_array()?.iter().map(Json::as_u64).collect() };
    let (old, new) = (lens(old)?, lens(new)?);
    (old != new).then(|| Lengths { variable: variable.to_owned(), old, new })
}
