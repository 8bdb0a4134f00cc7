//! Making what was written visible: the directory of the archive, and its name.

use std::fs::File;
use std::sync::{Arc, PoisonError};

use rustix::fs::{FlockOperation, Gid, Mode, Uid, fchmod, fchown, flock, fstat};
use rustix::io::Errno;

use super::archive::{Archive, Entry};
use super::assemble::{assemble, in_place};
use super::end_record::bad;
use super::layout::ZipLayout;
use super::open::{already, check_target};
use super::pending::{PendingChanges, State};
use super::stage::Stage;
use super::{Durability, ZipStore};
use crate::error::{ObjectLocation, StoreError};
use crate::key::KeyBuf;
use crate::parent_dir::parent_of;
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
    let failed = |error: Errno| StoreError::from_io("publish", ObjectLocation::store(store), error.into());
    if let Some(old) = &old {
        take_over_access(old, &built.file.file).map_err(failed)?;
    }
    if changing.durability == Durability::PowerLoss {
        sys::sync_file(&built.file.file).map_err(failed)?;
    }
    let replaced = install(store, changing, &built.file, old.as_ref())?;
    built.file.has_become_the_archive();
    if is_new {
        // a journal is of the archive that was here before
        let _ = sys::remove_file(&changing.parent.dir, &*temp_names::journal(&changing.parent.name));
    }
    *changing.state_mut() = State { base: Some(Arc::new(built.archive)), ..State::default() };
    let synced = match changing.durability {
        Durability::PowerLoss => sys::sync_file(&changing.parent.dir),
        Durability::Process => Ok(()),
    };
    let beside = |name| parent_of(&store.path).join(name).display().to_string();
    let name = built.file.name.as_os_str();
    if let Err(error) = synced {
        // a power failure could still undo the rename: the old archive is kept
        let old = replaced.then(|| beside(changing.parent.keep(&changing.names, name.to_owned())));
        return Err(StoreError::NotDurable { at: ObjectLocation::store(store), old, source: error.into() });
    }
    if !replaced {
        return Ok(());
    }
    sys::remove_file(&changing.parent.dir, name)
        .map_err(|error| StoreError::NotRemoved { location: beside(name.to_owned()), source: error.into() })
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

/// Lets in and keeps out whom the old archive did, so far as owner, group and mode say it.
fn take_over_access(old: &File, new: &File) -> Result<(), Errno> {
    let (was, is) = (fstat(old)?, fstat(new)?);
    let (owner, group) = (Uid::from_raw(was.st_uid), Gid::from_raw(was.st_gid));
    let mut mode = was.st_mode;
    // only root gives files away, but anybody to a group of their own
    if (is.st_uid, is.st_gid) != (was.st_uid, was.st_gid)
        && fchown(new, Some(owner), Some(group)).is_err()
        && fchown(new, None, Some(group)).is_err()
    {
        // another group has no more rights than everybody
        mode &= !0o070 | (mode & 0o007) << 3;
    }
    fchmod(new, Mode::from_raw_mode(mode))
}

/// Gives the new archive its name. `true`: the old one has the hidden name now.
fn install(
    store: &ZipStore,
    changing: &PendingChanges,
    new: &Stage,
    old: Option<&Arc<File>>,
) -> Result<bool, StoreError> {
    let (parent, target, hidden) = (&changing.parent.dir, &*changing.parent.name, &*new.name);
    let failed = |error: Errno| StoreError::from_io("publish", ObjectLocation::store(store), error.into());
    let Some(old) = old else {
        let renamed = match sys::rename_new(parent, hidden, target) {
            Ok(None) => sys::link_new(parent, hidden, target).map(|()| {
                // the archive has its name; that it has two for a while does no harm
                let _ = sys::remove_file(parent, hidden);
            }),
            Ok(Some(())) => Ok(()),
            Err(error) => Err(error),
        };
        return match renamed {
            Ok(()) => Ok(false),
            Err(Errno::EXIST) => Err(already(&store.path)),
            Err(error) => Err(failed(error)),
        };
    };
    let is_old = |name| matches!((sys::stat_entry(parent, name), fstat(old)), (Ok(there), Ok(old)) if sys::same(&there, &old));
    let _ = flock(old, FlockOperation::NonBlockingLockExclusive);
    if let Some(()) = sys::exchange(parent, hidden, target).map_err(failed)? {
        if is_old(hidden) {
            return Ok(true);
        }
        // what was asked about is no longer what was there: give it back
        sys::exchange(parent, hidden, target).map_err(failed)?;
        return Err(StoreError::Gone { store: store.to_string() });
    }
    if !is_old(target) {
        return Err(StoreError::Gone { store: store.to_string() });
    }
    sys::rename(parent, hidden, target).map_err(failed)?;
    Ok(false)
}
