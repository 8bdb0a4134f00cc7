//! The journal beside an archive, `.NAME.ncz-journal`: it is there before an archive is published and after, so it cannot
//! be in it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::io::Errno;

use super::changing::Changing;
use super::{Contents, Durability, ZipStore};
use crate::error::StoreError;
use crate::home::parent_of;
use crate::key::Key;
use crate::names;
use crate::store::{ReadRange, WriteMode, make_room};
use crate::sys;

/// All of its bytes, if there is one.
pub(super) fn read(store: &ZipStore, max_len: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error| StoreError::from_io("read", store.at(Key::JOURNAL), error);
    let opened = match &store.contents {
        Contents::Changing(changing) => {
            let name = names::journal(&changing.home.name);
            sys::open_file(&changing.home.parent, &*name).map(File::from).map_err(Into::into)
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
    let name = names::journal(real.file_name()?);
    Some(parent_of(&real).join(name))
}

pub(super) fn write(
    store: &ZipStore,
    changing: &Changing,
    bytes: &[u8],
    mode: WriteMode,
) -> Result<(), StoreError> {
    let at = || store.at(Key::JOURNAL);
    let failed = |error: Errno| StoreError::from_io("write", at(), error.into());
    let home = &changing.home;
    let (hidden, file) = create(changing).map_err(failed)?;
    let written = (|| {
        sys::write_all(&file, bytes)?;
        if changing.durability == Durability::PowerLoss {
            sys::sync_file(&file)?;
        }
        let name = names::journal(&home.name);
        match mode {
            WriteMode::Replace => sys::rename(&home.parent, &*hidden, &*name)?,
            WriteMode::CreateNew => match sys::rename_new(&home.parent, &*hidden, &*name)? {
                Some(()) => {}
                None => {
                    sys::link_new(&home.parent, &*hidden, &*name)?;
                    // it has its name; that it has two for a while harms nobody
                    let _ = sys::remove_file(&home.parent, &*hidden);
                }
            },
        }
        match changing.durability {
            Durability::PowerLoss => sys::sync_file(&home.parent),
            Durability::Process => Ok(()),
        }
    })();
    written.map_err(|error| {
        // if this fails too, a later writer removes it
        let _ = sys::remove_file(&home.parent, &*hidden);
        match error {
            Errno::EXIST => StoreError::AlreadyExists { at: at() },
            error => failed(error),
        }
    })
}

fn create(changing: &Changing) -> Result<(OsString, OwnedFd), Errno> {
    loop {
        let name = changing.names.stage(&changing.home.name);
        match sys::create_file(&changing.home.parent, &*name, changing.permissions.file) {
            Err(Errno::EXIST) => {}
            other => return other.map(|file| (name, file)),
        }
    }
}

pub(super) fn delete(store: &ZipStore, changing: &Changing) -> Result<bool, StoreError> {
    let home = &changing.home;
    match sys::remove_file(&home.parent, &*names::journal(&home.name)) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(StoreError::from_io("delete", store.at(Key::JOURNAL), error.into())),
    }
}
