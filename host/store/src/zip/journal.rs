//! The journal beside an archive, `.NAME.ncz-journal`: it is there before an archive is published and after, so it cannot
//! be in it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::io::Errno;

use super::pending::PendingChanges;
use super::{Contents, Durability, ZipStore};
use crate::error::StoreError;
use crate::key::Key;
use crate::parent_dir::parent_of;
use crate::store::{ReadRange, WriteMode, make_room};
use crate::sys;
use crate::temp_names;

/// All of its bytes, if there is one.
pub(super) fn read(store: &ZipStore, max_len: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error| StoreError::from_io("read", store.at(Key::JOURNAL), error);
    let opened = match &store.contents {
        Contents::PendingChanges(changing) => {
            let name = temp_names::journal(&changing.parent.name);
            sys::open_file(&changing.parent.dir, &*name).map(File::from).map_err(Into::into)
        }
        Contents::Fixed(_) => match beside(store) {
            Some(path) => File::open(path),
            None => return Ok(None),
        },
    };
    let mut file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let len = file.metadata().map_err(failed)?.len();
    let at = || store.at(Key::JOURNAL);
    ReadRange::All.checked(len, max_len, at)?;
    let mut bytes = Vec::new();
    make_room(&mut bytes, len as usize, at)?;
    file.by_ref().take(max_len).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Where it is for those who only read.
fn beside(store: &ZipStore) -> Option<PathBuf> {
    let real = std::fs::canonicalize(&store.path).ok()?;
    let name = temp_names::journal(real.file_name()?);
    Some(parent_of(&real).join(name))
}

pub(super) fn write(
    store: &ZipStore,
    changing: &PendingChanges,
    bytes: &[u8],
    mode: WriteMode,
) -> Result<(), StoreError> {
    let at = || store.at(Key::JOURNAL);
    let failed = |error: Errno| StoreError::from_io("write", at(), error.into());
    let parent = &changing.parent;
    let (hidden, file) = create(changing).map_err(failed)?;
    let written = (|| {
        sys::write_all(&file, bytes)?;
        if changing.durability == Durability::PowerLoss {
            sys::sync_file(&file)?;
        }
        let name = temp_names::journal(&parent.name);
        match mode {
            WriteMode::Replace => sys::rename(&parent.dir, &*hidden, &*name)?,
            WriteMode::CreateNew => match sys::rename_new(&parent.dir, &*hidden, &*name)? {
                Some(()) => {}
                None => {
                    sys::link_new(&parent.dir, &*hidden, &*name)?;
                    // it has its name; that it has two for a while does no harm
                    let _ = sys::remove_file(&parent.dir, &*hidden);
                }
            },
        }
        match changing.durability {
            Durability::PowerLoss => sys::sync_file(&parent.dir),
            Durability::Process => Ok(()),
        }
    })();
    written.map_err(|error| {
        // if this fails too, a later writer removes it
        let _ = sys::remove_file(&parent.dir, &*hidden);
        match error {
            Errno::EXIST => StoreError::AlreadyExists { at: at() },
            error => failed(error),
        }
    })
}

fn create(changing: &PendingChanges) -> Result<(OsString, OwnedFd), Errno> {
    loop {
        let name = changing.names.stage(&changing.parent.name);
        match sys::create_file(&changing.parent.dir, &*name, changing.permissions.file) {
            Err(Errno::EXIST) => {}
            other => return other.map(|file| (name, file)),
        }
    }
}

pub(super) fn delete(store: &ZipStore, changing: &PendingChanges) -> Result<bool, StoreError> {
    let parent = &changing.parent;
    match sys::remove_file(&parent.dir, &*temp_names::journal(&parent.name)) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(StoreError::from_io("delete", store.at(Key::JOURNAL), error.into())),
    }
}
