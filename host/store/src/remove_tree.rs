//! Removes a directory with everything in it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Stat, fstat};
use rustix::io::Errno;

use crate::sys;

/// Datasets are not this deep; each level holds a directory open.
const MAX_DEPTH: usize = 512;

/// The most passes over a directory to which other programs add entries meanwhile.
const TRIES: usize = 64;

/// Removes the directory `name` in `parent` with everything in it, provided that it is `expected`.
///
/// Links are removed, not followed; another file system that is mounted inside stops it. What
/// another program removes meanwhile is not a failure.
pub(crate) fn remove(parent: impl AsFd, name: &OsStr, expected: impl AsFd) -> Result<(), Errno> {
    let directory = match sys::open_real_directory(&parent, name) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let found = fstat(&directory)?;
    if !sys::same(&found, &fstat(expected)?) {
        return Err(Errno::EXIST);
    }
    empty(&directory, &found, MAX_DEPTH)?;
    gone(sys::remove_directory(&parent, name))
}

fn empty(directory: &OwnedFd, top: &Stat, depth: usize) -> Result<(), Errno> {
    let deeper = depth.checked_sub(1).ok_or(Errno::LOOP)?;
    for _ in 0..TRIES {
        let mut found = 0_usize;
        let mut entries = Dir::read_from(directory)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            found += 1;
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                match sys::stat_entry(directory, name) {
                    Ok(status) => kind = FileType::from_raw_mode(status.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error),
                }
            }
            if kind != FileType::Directory {
                gone(sys::remove_file(directory, name))?;
                continue;
            }
            let inner = match sys::open_real_directory(directory, name) {
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            if fstat(&inner)?.st_dev != top.st_dev {
                return Err(Errno::XDEV);
            }
            empty(&inner, top, deeper)?;
            drop(inner);
            gone(sys::remove_directory(directory, name))?;
        }
        if found == 0 {
            return Ok(());
        }
    }
    Err(Errno::NOTEMPTY)
}

fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}
