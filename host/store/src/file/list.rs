//! Listing what is below a prefix.

use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;

use super::FileStore;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, KeyError, Prefix};
use crate::store::DirectoryId;
use crate::store::{Depth, Entry, EntryKind, Listing};
use crate::sys;
use crate::visited::Visited;

pub(super) fn list(
    store: &FileStore,
    prefix: Prefix<'_>,
    depth: Depth,
    max_entries: usize,
) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    let mut visited = Visited::default();
    if depth == Depth::All {
        visited.enter(store, prefix)?;
    }
    if one(store, prefix, &mut listing, max_entries)? == Found::Nothing {
        store.check_still_there()?;
    }
    if depth == Depth::All {
        // the listing grows while it is walked: each directory is entered in its turn
        let mut next = 0;
        while let Some(entry) = listing.entries.get(next) {
            if entry.kind == EntryKind::Directory {
                let below = entry.key.clone();
                visited.enter(store, Prefix::from(below.as_key()))?;
                one(store, Prefix::from(below.as_key()), &mut listing, max_entries)?;
            }
            next += 1;
        }
    }
    listing.entries.sort_unstable();
    Ok(listing)
}

pub(super) fn directory_id(store: &FileStore, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
    let found = match prefix.is_root() {
        true => fstat(&store.root),
        false => sys::stat(&store.root, prefix.as_str()),
    };
    match found {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
            Ok(Some(DirectoryId { device: found.st_dev.into(), inode: found.st_ino.into() }))
        }
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(StoreError::from_io("look at", ObjectLocation::below(store, prefix), error.into())),
    }
}

#[derive(PartialEq, Eq)]
enum Found {
    Directory,
    Nothing,
}

/// Appends the children of one directory.
fn one(
    store: &FileStore,
    prefix: Prefix<'_>,
    listing: &mut Listing,
    max_entries: usize,
) -> Result<Found, StoreError> {
    let at = || ObjectLocation::below(store, prefix);
    let failed = |error: Errno| StoreError::from_io("list", at(), error.into());
    let opened = if prefix.is_root() {
        sys::open_directory(&store.root, ".")
    } else {
        sys::open_directory(&store.root, prefix.as_str())
    };
    let directory = match opened {
        Ok(directory) => directory,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Nothing),
        Err(error) => return Err(failed(error)),
    };
    let mut children = Dir::read_from(&directory).map_err(failed)?;
    while let Some(child) = children.read() {
        let child = child.map_err(failed)?;
        let name = child.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let key = match name.to_str().map(|name| prefix.join(name)) {
            Ok(Ok(key)) => key,
            // our own temporary names are never shown
            Ok(Err(KeyError::Reserved { .. })) => continue,
            Ok(Err(_)) | Err(_) => {
                skip(listing, prefix, &name.to_string_lossy());
                if listing.skipped.len() > max_entries {
                    return Err(StoreError::TooManyEntries { at: at(), limit: max_entries });
                }
                continue;
            }
        };
        let mut kind = child.file_type();
        if matches!(kind, FileType::Unknown | FileType::Symlink) {
            kind = match sys::stat(&directory, name) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                // removed meanwhile, or a link to nowhere
                Err(Errno::NOENT | Errno::LOOP) => FileType::Unknown,
                Err(error) => return Err(failed(error)),
            };
        }
        match kind {
            FileType::RegularFile => push(listing, key, EntryKind::Object),
            FileType::Directory => push(listing, key, EntryKind::Directory),
            _ => skip(listing, prefix, &name.to_string_lossy()),
        }
        if listing.entries.len() + listing.skipped.len() > max_entries {
            return Err(StoreError::TooManyEntries { at: at(), limit: max_entries });
        }
    }
    Ok(Found::Directory)
}

fn push(listing: &mut Listing, key: KeyBuf, kind: EntryKind) {
    listing.entries.push(Entry { key, kind, len: None });
}

fn skip(listing: &mut Listing, prefix: Prefix<'_>, name: &str) {
    listing.skipped.push(match Key::parse(prefix.as_str()) {
        Ok(above) => format!("{above}/{name}"),
        Err(_) => name.to_owned(),
    });
}
