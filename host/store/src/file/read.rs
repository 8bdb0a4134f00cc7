//! Reading objects.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, RawMode, fstat};
use rustix::io::{Errno, pread, preadv, retry_on_intr};

use super::FileStore;
use crate::error::StoreError;
use crate::key::Key;
use crate::store::{ReadInto, ReadRange, Stamp, make_room};
use crate::sys;

pub(super) fn read(
    store: &FileStore,
    key: Key<'_>,
    range: ReadRange,
    max_len: u64,
    out: &mut Vec<u8>,
) -> Result<bool, StoreError> {
    let Some((file, len)) = open(store, key)? else {
        return Ok(false);
    };
    let at = || store.at(key);
    let wanted = range.checked(len, max_len, at)?;
    let too_much = || StoreError::OutOfMemory { at: at(), len: wanted.end - wanted.start };
    let want = usize::try_from(wanted.end - wanted.start).map_err(|_| too_much())?;
    if want == 0 {
        return Ok(true);
    }
    let to_end = wanted.end == len;
    if to_end {
        // One byte more than expected: the read itself then shows, without another call, that the
        // object is still as long as it was.
        make_room(out, want.checked_add(1).ok_or_else(too_much)?, at)?;
    } else {
        // a part is read into just its bytes, since a large buffer would take in what follows it
        make_room(out, want, at)?;
        out.resize(want, 0);
    }
    let mut filled = 0;
    while filled < want {
        let offset = wanted.start + filled as u64;
        let n = match out.get_mut(filled..want).filter(|room| !room.is_empty()) {
            Some(room) => retry_on_intr(|| pread(&file, &mut *room, offset)),
            None => retry_on_intr(|| pread(&file, spare_capacity(out), offset)),
        };
        match n.map_err(|error| store.io("read", key, error))? {
            0 => break,
            n => filled += n,
        }
    }
    if filled < want || (to_end && filled > want) {
        return Err(StoreError::Changed { at: at() });
    }
    out.truncate(want);
    Ok(true)
}

pub(super) fn read_into(
    store: &FileStore,
    key: Key<'_>,
    offset: u64,
    out: &mut [u8],
) -> Result<Option<ReadInto>, StoreError> {
    let Some((file, object_len)) = open(store, key)? else {
        return Ok(None);
    };
    let rest = usize::try_from(object_len.saturating_sub(offset)).unwrap_or(usize::MAX);
    let want = rest.min(out.len());
    let to_end = want == rest;
    let mut filled = 0;
    while let Some(room) = out.get_mut(filled..want).filter(|room| !room.is_empty()) {
        let mut beyond = [0_u8];
        let mut parts = [IoSliceMut::new(room), IoSliceMut::new(&mut beyond)];
        let n = retry_on_intr(|| preadv(&file, &mut parts, offset + filled as u64))
            .map_err(|error| store.io("read", key, error))?;
        if n == 0 {
            break;
        }
        filled += n;
    }
    if filled < want || (to_end && filled > want) {
        return Err(StoreError::Changed { at: store.at(key) });
    }
    Ok(Some(ReadInto { filled: want, object_len }))
}

pub(super) fn len(store: &FileStore, key: Key<'_>) -> Result<Option<u64>, StoreError> {
    match sys::stat(&store.root, key.as_str()) {
        Ok(stat) => regular(store, key, stat.st_mode, stat.st_size),
        Err(Errno::NOENT | Errno::NOTDIR) => missing(store, key).map(|()| None),
        Err(error) => Err(store.io("look at", key, error)),
    }
}

pub(super) fn stamp(store: &FileStore, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
    let Some(length) = len(store, key)? else { return Ok(None) };
    let stat = sys::stat(&store.root, key.as_str()).map_err(|error| store.io("look at", key, error))?;
    let modified = Some(format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec));
    Ok(Some(Stamp { length, modified, ..Stamp::default() }))
}

/// The file of an object and its length; `None` if there is none.
fn open(store: &FileStore, key: Key<'_>) -> Result<Option<(OwnedFd, u64)>, StoreError> {
    let file = match sys::open_file(&store.root, key.as_str()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return missing(store, key).map(|()| None),
        // a socket, or a device without a driver
        Err(Errno::NXIO) => return Err(StoreError::NotAnObject { at: store.at(key) }),
        Err(error) => return Err(store.io("open", key, error)),
    };
    let stat = fstat(&file).map_err(|error| store.io("look at", key, error))?;
    sys::between_length_and_bytes();
    Ok(regular(store, key, stat.st_mode, stat.st_size)?.map(|len| (file, len)))
}

/// Whether an object is missing rather than out of reach. A link to nowhere is not nothing: it represents bytes that
/// were not fetched, as git-annex keeps them, and a missing chunk would read as fill.
fn missing(store: &FileStore, key: Key<'_>) -> Result<(), StoreError> {
    match sys::stat_entry(&store.root, key.as_str()) {
        Ok(entry) if FileType::from_raw_mode(entry.st_mode) == FileType::Symlink => {
            Err(StoreError::NotAnObject { at: store.at(key) })
        }
        _ => store.check_still_there(),
    }
}

/// The length of a regular file; a directory is not an object, so there is none under its key.
fn regular(store: &FileStore, key: Key<'_>, mode: RawMode, size: i64) -> Result<Option<u64>, StoreError> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(Some(u64::try_from(size).unwrap_or(0))),
        FileType::Directory => Ok(None),
        _ => Err(StoreError::NotAnObject { at: store.at(key) }),
    }
}
