//! What the store holds beside the dataset that is copied.

use std::collections::BTreeSet;

use ncz_nczarr::{Array, DataError, Dataset, Group, KeyEncoding, Separator, Variable, limits};
use ncz_store::{Depth, Entry, EntryKind, KeyBuf, Listing, Prefix, Store, StoreError, StoreExt};

use super::strings;
use super::{CopyError, LeftOut};

/// Names that carry metadata in some generation of the format.
pub(crate) const DOCUMENTS: [&str; 12] = [
    "zarr.json",
    ".zarray",
    ".zattrs",
    ".zgroup",
    ".zmetadata",
    ".nczarr",
    ".nczgroup",
    ".nczarray",
    ".nczvar",
    ".nczvars",
    ".nczattr",
    ".nczattrs",
];

/// Of an array with more entries than this nobody looks what is no chunk.
const CHUNKS: usize = 250_000;

/// Names to keep; more are counted.
const NAMES: usize = 100;

/// Looks for what the copy will not have, though nobody said so. `has` tells of a variable whether it is copied.
///
/// # Errors
/// [`CopyError::Unlisted`] for an array or a group that NCZarr metadata do not list, [`CopyError::OtherVersion`] for one
/// of the other version of Zarr.
pub(super) fn left_out(source: &Dataset, has: &dyn Fn(&str) -> bool) -> Result<LeftOut, CopyError> {
    let mut left_out = LeftOut::default();
    let store = &**source.store();
    if !store.capabilities().list {
        return Ok(left_out);
    }
    for group in source.hierarchy().groups() {
        if !source.hierarchy().root_array {
            beside_members(source, store, group, &mut left_out)?;
        }
        for variable in group.variables.iter().filter(|variable| has(&variable.path)) {
            beside_chunks(&strings::keyed(source, variable)?, variable, store, &mut left_out)?;
        }
    }
    Ok(left_out)
}

/// What is in the folder of a group and is neither its metadata nor a member.
fn beside_members(
    source: &Dataset,
    store: &dyn Store,
    group: &Group,
    left_out: &mut LeftOut,
) -> Result<(), CopyError> {
    let prefix = Prefix::parse(group.path.trim_matches('/')).unwrap_or(Prefix::ROOT);
    let listing = store.list(prefix, Depth::One, limits::CHILDREN).map_err(|error| failed(store, error))?;
    let mut members: BTreeSet<&str> = group.groups.iter().map(|child| child.name.as_str()).collect();
    members.extend(group.variables.iter().map(|variable| variable.name.as_str()));
    members.extend(group.unreadable.iter().map(|lost| lost.name.as_str()));
    let is_directory = |entry: &Entry| entry.kind == EntryKind::Directory;
    let is_stranger = |entry: &&Entry| is_directory(entry) && !members.contains(entry.key.as_key().name());
    for entry in listing.entries.iter().filter(is_stranger) {
        let key = entry.key.as_str().to_owned();
        for document in [".zarray", ".zgroup", "zarr.json"] {
            let Ok(document) = KeyBuf::parse(format!("{key}/{document}")) else { continue };
            if store.exists(document.as_key()).map_err(|error| failed(store, error))? {
                return Err(match source.hierarchy().format.is_nczarr() {
                    true => CopyError::Unlisted { key, group: group.path.clone() },
                    false => CopyError::OtherVersion { key },
                });
            }
        }
    }
    left_out.add(store, listing, |entry| is_directory(entry) && members.contains(entry.key.as_key().name()))
}

/// What is in the folder of an array and is neither its metadata nor a chunk. Of chunks in folders of their own
/// only the outermost are looked at.
fn beside_chunks(
    array: &Array,
    variable: &Variable,
    store: &dyn Store,
    left_out: &mut LeftOut,
) -> Result<(), CopyError> {
    let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
    let listing = match store.list(prefix, Depth::One, CHUNKS) {
        Err(StoreError::TooManyEntries { .. }) => return Ok(()),
        listing => listing.map_err(|error| failed(store, error))?,
    };
    // With the default keys of version 3 all are below `c`.
    let below_c = variable.key_encoding == KeyEncoding::Default;
    let in_folders =
        variable.separator == Separator::Slash && variable.shape.len() + usize::from(below_c) > 1;
    let first = array.object_counts().first().copied().unwrap_or(0);
    left_out.add(store, listing, |entry| match entry.kind {
        EntryKind::Directory if in_folders && below_c => {
            entry.key.as_key().name() == "c" && !variable.shape.is_empty()
        }
        EntryKind::Directory if in_folders => {
            entry.key.as_key().name().parse::<u64>().is_ok_and(|number| number < first)
        }
        EntryKind::Directory => false,
        EntryKind::Object => array.object_index(entry.key.as_str()).is_some(),
    })
}

impl LeftOut {
    /// Adds what is listed and is no metadata, unless `belongs` says that it is copied. Empty folders are nothing.
    fn add(
        &mut self,
        store: &dyn Store,
        listing: Listing,
        belongs: impl Fn(&Entry) -> bool,
    ) -> Result<(), CopyError> {
        for entry in &listing.entries {
            if belongs(entry) || DOCUMENTS.contains(&entry.key.as_key().name()) {
                continue;
            }
            let empty = entry.kind == EntryKind::Directory
                && match store.list(Prefix::from(entry.key.as_key()), Depth::All, NAMES) {
                    Ok(inside) => inside.entries.iter().all(|entry| entry.kind == EntryKind::Directory),
                    // links need not be followed to know that something is there
                    Err(
                        StoreError::TooManyEntries { .. }
                        | StoreError::LinkLoop { .. }
                        | StoreError::TooManyLinks { .. },
                    ) => false,
                    Err(error) => return Err(failed(store, error)),
                };
            if !empty {
                self.push(entry.key.as_str().to_owned());
            }
        }
        listing.skipped.into_iter().for_each(|name| self.push(name));
        Ok(())
    }

    fn push(&mut self, key: String) {
        match self.keys.len() < NAMES {
            true => self.keys.push(key),
            false => self.more += 1,
        }
    }
}

fn failed(store: &dyn Store, source: StoreError) -> CopyError {
    DataError::Store { store: store.to_string(), source }.into()
}
