//! The changes to an archive that are not yet published.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::archive::{Archive, Entry};
use super::stage::Stage;
use super::{Durability, FilePermissions, ZipStore};
use crate::error::StoreError;
use crate::key::{Key, KeyBuf};
use crate::options::Predicate;
use crate::parent_dir::ParentDir;
use crate::store::WriteMode;
use crate::temp_names::TempNames;

/// An archive that is written to: its state when it was opened, and the changes since.
pub(super) struct PendingChanges {
    pub(super) parent: Arc<ParentDir>,
    pub(super) names: TempNames,
    pub(super) prefix: Option<KeyBuf>,
    pub(super) durability: Durability,
    pub(super) permissions: FilePermissions,
    pub(super) replace_if: Option<Predicate>,
    /// Held shared by writers, exclusively while publishing.
    pub(super) gate: RwLock<()>,
    state: RwLock<State>,
}

/// The objects that are visible through the store. Each change to it is one call, so that it is never half done.
#[derive(Default)]
pub(super) struct State {
    /// The published archive; `None` until a new one is published.
    pub(super) base: Option<Arc<Archive>>,
    /// The file with the new entries; `None` before the first write.
    pub(super) stage: Option<Arc<Stage>>,
    /// The objects that differ from `base`; `None` is a deleted object.
    pub(super) changes: BTreeMap<KeyBuf, Option<Entry>>,
}

/// Where the bytes of an object are.
pub(super) enum ObjectSource {
    Missing,
    /// In the archive, if at all.
    Archived(Arc<Archive>),
    Staged(Arc<File>, Entry),
}

impl PendingChanges {
    pub(super) fn new(parent: Arc<ParentDir>, prefix: Option<KeyBuf>, state: State) -> Self {
        Self {
            parent,
            names: TempNames::default(),
            prefix,
            durability: Durability::default(),
            permissions: FilePermissions::default(),
            replace_if: None,
            gate: RwLock::new(()),
            state: RwLock::new(state),
        }
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: Key<'_>) -> ObjectSource {
        let state = self.state();
        match (state.changes.get(key.as_str()), &state.stage, &state.base) {
            (Some(Some(entry)), Some(stage), _) => {
                ObjectSource::Staged(Arc::clone(&stage.file), entry.copy())
            }
            (Some(_), _, _) | (None, _, None) => ObjectSource::Missing,
            (None, _, Some(archive)) => ObjectSource::Archived(Arc::clone(archive)),
        }
    }

    pub(super) fn write(
        &self,
        store: &ZipStore,
        key: Key<'_>,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), StoreError> {
        let _passing = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        // asked before anything is written, and again when it counts
        self.state().check(store, key, mode)?;
        let failed = |error: rustix::io::Errno| StoreError::from_io("write", store.at(key), error.into());
        let stage = self.stage().map_err(failed)?;
        let entry = stage.append(&self.name(key.as_str()), bytes).map_err(failed)?;
        let mut state = self.state_mut();
        state.check(store, key, mode)?;
        state.changes.insert(key.to_buf(), Some(entry));
        Ok(())
    }

    pub(super) fn delete(&self, key: Key<'_>) -> bool {
        let _passing = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state_mut();
        let existed = state.has(key.as_str());
        if state.base.as_ref().is_some_and(|base| base.objects.contains_key(key.as_str())) {
            state.changes.insert(key.to_buf(), None);
        } else {
            state.changes.remove(key.as_str());
        }
        existed
    }

    /// The name of the entry for a key.
    pub(super) fn name(&self, key: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}/{key}"),
            None => key.to_owned(),
        }
    }

    /// The file to write to, made at the first write.
    pub(super) fn stage(&self) -> Result<Arc<Stage>, rustix::io::Errno> {
        if let Some(stage) = &self.state().stage {
            return Ok(Arc::clone(stage));
        }
        let new = Arc::new(Stage::create(&self.parent, &self.names, self.permissions.file)?);
        // another writer may have come first; ours then disappears
        Ok(Arc::clone(self.state_mut().stage.get_or_insert(new)))
    }
}

impl State {
    /// Whether a write would be right.
    fn check(&self, store: &ZipStore, key: Key<'_>, mode: WriteMode) -> Result<(), StoreError> {
        if self.has(key.as_str()) {
            return match mode {
                WriteMode::Replace => Ok(()),
                WriteMode::CreateNew => Err(StoreError::AlreadyExists { at: store.at(key) }),
            };
        }
        match self.conflict(key) {
            Some(other) => Err(StoreError::KeyConflict { at: store.at(key), other }),
            None => Ok(()),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        match self.changes.get(key) {
            Some(change) => change.is_some(),
            None => self.base.as_ref().is_some_and(|base| base.objects.contains_key(key)),
        }
    }

    /// A key that may not be there beside `key`, which itself is not.
    fn conflict(&self, key: Key<'_>) -> Option<String> {
        if let Some(above) = key.ancestors().find(|above| self.has(above.as_str())) {
            return Some(above.as_str().to_owned());
        }
        let below = format!("{key}/");
        let next = self.next(&below)?.as_str();
        next.starts_with(&below).then(|| next.to_owned())
    }

    /// The first key that is not before `from`.
    pub(super) fn next(&self, from: &str) -> Option<Key<'_>> {
        let range = (Bound::Included(from), Bound::Unbounded);
        let changed = self.changes.range::<str, _>(range).find(|(_, change)| change.is_some());
        let kept = self.base.as_ref().and_then(|base| {
            let mut keys = base.objects.range::<str, _>(range).map(|(key, _)| key);
            keys.find(|key| !self.changes.contains_key(key.as_str()))
        });
        match (changed.map(|(key, _)| key.as_key()), kept.map(KeyBuf::as_key)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}
