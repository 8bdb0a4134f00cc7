//! Making what was written visible: the directory of the archive, and its name.

use std::fs::File;
use std::sync::{Arc, PoisonError};

use super::ZipStore;
use super::archive::{Archive, Entry};
use super::assemble::{assemble, in_place};
use super::end_record::bad;
use super::layout::ZipLayout;
use super::open::check_target;
use super::pending::{PendingChanges, State};
use super::stage::Stage;
use crate::error::StoreError;
use crate::key::KeyBuf;
use crate::{sys, temp_names};

pub(super) fn publish(store: &ZipStore, changing: &PendingChanges) -> Result<(), StoreError> {
    // while the gate is closed nothing changes the state, so that it may be looked at meanwhile
    let _alone = changing.gate.write().unwrap_or_else(PoisonError::into_inner);
    let state = changing.state();
    if state.base.is_some() && state.changes.is_empty() {
        return Ok(());
    }
    let built = build(store, changing, &state)?;
    let old = check_place(store, changing, &state)?;
    let is_new = state.base.is_none();
    drop(state);
    let hidden = &built.file;
    let replaced = hidden.install(store, &store.path, old.as_deref(), changing.durability)?;
    if is_new {
        // a journal is of the archive that was here before
        let _ = sys::remove_file(&changing.parent.dir, &*temp_names::journal(&changing.parent.name));
    }
    *changing.state_mut() = State { base: Some(Arc::new(built.archive)), ..State::default() };
    hidden.finish(store, &store.path, replaced, changing.durability, &changing.names)
}

/// A whole archive under a hidden name.
struct Built {
    file: Arc<Stage>,
    archive: Archive,
}

fn build(store: &ZipStore, changing: &PendingChanges, state: &State) -> Result<Built, StoreError> {
    let location = store.path.display().to_string();
    let (file, new) = match in_place(store, changing, state)? {
        Some(built) => built,
        None => assemble(store, changing, state)?,
    };
    let layout = match &changing.prefix {
        Some(prefix) => ZipLayout::Prefix(prefix.clone()),
        None => ZipLayout::Flat,
    };
    // read as anybody will read it, before it replaces anything
    let archive = Archive::read(Arc::clone(&file.file), &location, &layout)?;
    if let Some(key) = unlike(state, &archive, &new) {
        let reason = "would not be what it was, since the archive is damaged: overwrite or delete it";
        return Err(bad(&location, Some(key.to_string()), reason));
    }
    Ok(Built { file, archive })
}

/// An object that an archive does not have as it should.
fn unlike<'s>(state: &'s State, archive: &'s Archive, new: &[(&'s KeyBuf, &'s Entry)]) -> Option<&'s KeyBuf> {
    let base = state.base.iter().flat_map(|base| &base.objects);
    let kept = base.filter(|(key, _)| !state.changes.contains_key(key.as_str()));
    let mut count = 0;
    let expected = kept.chain(new.iter().copied()).inspect(|_| count += 1);
    let unlike = expected
        .into_iter()
        .find(|(key, entry)| archive.objects.get(key.as_str()).is_none_or(|found| !found.is_like(entry)));
    match unlike {
        Some((key, _)) => Some(key),
        None if archive.objects.len() == count => None,
        None => archive.objects.keys().find(|key| !state.has(key.as_str())),
    }
}

/// What is at the place and may be replaced; an error if something else is.
fn check_place(
    store: &ZipStore,
    changing: &PendingChanges,
    state: &State,
) -> Result<Option<Arc<File>>, StoreError> {
    let Some(base) = &state.base else {
        let found = check_target(&store.path, &changing.parent, changing.replace_if.as_ref())?;
        return Ok(found.map(Arc::new));
    };
    let there = sys::stat_entry(&changing.parent.dir, &*changing.parent.name);
    if base.is_unchanged() && there.is_ok_and(|there| sys::same(&there, &base.status)) {
        return Ok(Some(Arc::clone(&base.file)));
    }
    Err(StoreError::Gone { store: store.to_string() })
}
