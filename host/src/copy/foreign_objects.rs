//! Objects in the store of the source that are not part of the dataset.

use std::collections::BTreeSet;

use ncz_model::Container;
use ncz_model::{Array, DataError, Group, KeyEncoding, Separator, Variable, limits};
use ncz_store::{Depth, Entry, EntryKind, KeyBuf, Listing, Prefix, Store, StoreError, StoreExt};
use ncz_zarr::metadata::document;

use super::{CopyError, ForeignObjects};
use crate::byte_array::keyed_array;

/// An array with more entries than this is not searched.
const MAX_ENTRIES: usize = 250_000;

/// The number of keys to keep; more are only counted.
const MAX_KEYS: usize = 100;

/// Searches for objects that the copy will not have. `has` says whether a variable is copied.
///
/// # Errors
/// [`CopyError::Unlisted`] for an array or a group that NCZarr metadata do not list, [`CopyError::OtherVersion`] for
/// one of the other version of Zarr.
pub(super) fn find(source: &dyn Container, has: &dyn Fn(&str) -> bool) -> Result<ForeignObjects, CopyError> {
    let mut foreign = ForeignObjects::default();
    let store = &**source.store();
    if !store.capabilities().list {
        return Ok(foreign);
    }
    for group in source.hierarchy().groups() {
        if !source.hierarchy().root_array {
            in_group(source, store, group, &mut foreign)?;
        }
        for variable in group.variables.iter().filter(|variable| has(&variable.path)) {
            in_array(&keyed_array(source, variable)?, variable, store, &mut foreign)?;
        }
    }
    Ok(foreign)
}

/// Adds the objects in the folder of a group that are neither metadata nor members.
fn in_group(
    source: &dyn Container,
    store: &dyn Store,
    group: &Group,
    foreign: &mut ForeignObjects,
) -> Result<(), CopyError> {
    let prefix = Prefix::parse(group.path.trim_matches('/')).unwrap_or(Prefix::ROOT);
    let listing = store.list(prefix, Depth::One, limits::CHILDREN).map_err(|error| failed(store, error))?;
    let mut members: BTreeSet<&str> = group.groups.iter().map(|child| child.name.as_str()).collect();
    members.extend(group.variables.iter().map(|variable| variable.name.as_str()));
    members.extend(group.unreadable.iter().map(|lost| lost.name.as_str()));
    let is_directory = |entry: &Entry| entry.kind == EntryKind::Directory;
    let is_foreign = |entry: &&Entry| is_directory(entry) && !members.contains(entry.key.as_key().name());
    for entry in listing.entries.iter().filter(is_foreign) {
        let key = entry.key.as_str().to_owned();
        for document in [document::ZARRAY, document::ZGROUP, document::ZARR_JSON] {
            let Ok(document) = KeyBuf::parse(format!("{key}/{document}")) else { continue };
            if store.exists(document.as_key()).map_err(|error| failed(store, error))? {
                return Err(match source.hierarchy().format.is_nczarr() {
                    true => CopyError::Unlisted { key, group: group.path.clone() },
                    false => CopyError::OtherVersion { key },
                });
            }
        }
    }
    foreign.add(store, listing, |entry| is_directory(entry) && members.contains(entry.key.as_key().name()))
}

/// Adds the objects in the folder of an array that are neither metadata nor chunks. Of nested folders of chunks, only
/// the outermost are examined.
fn in_array(
    array: &Array,
    variable: &Variable,
    store: &dyn Store,
    foreign: &mut ForeignObjects,
) -> Result<(), CopyError> {
    let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
    let listing = match store.list(prefix, Depth::One, MAX_ENTRIES) {
        Err(StoreError::TooManyEntries { .. }) => return Ok(()),
        listing => listing.map_err(|error| failed(store, error))?,
    };
    // With the default keys of version 3 all are below `c`.
    let below_c = variable.key_encoding == KeyEncoding::Default;
    let in_folders =
        variable.separator == Separator::Slash && variable.shape.len() + usize::from(below_c) > 1;
    let first = array.object_counts().first().copied().unwrap_or(0);
    foreign.add(store, listing, |entry| match entry.kind {
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

impl ForeignObjects {
    /// Adds what is listed, except metadata, empty folders, and what `belongs` says is copied.
    fn add(
        &mut self,
        store: &dyn Store,
        listing: Listing,
        belongs: impl Fn(&Entry) -> bool,
    ) -> Result<(), CopyError> {
        for entry in &listing.entries {
            if belongs(entry) || document::ALL.contains(&entry.key.as_key().name()) {
                continue;
            }
            let empty = entry.kind == EntryKind::Directory
                && match store.list(Prefix::from(entry.key.as_key()), Depth::All, MAX_KEYS) {
                    Ok(inside) => inside.entries.iter().all(|entry| entry.kind == EntryKind::Directory),
                    // The folder is not empty, even if links cannot be followed.
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
        match self.keys.len() < MAX_KEYS {
            true => self.keys.push(key),
            false => self.more += 1,
        }
    }
}

fn failed(store: &dyn Store, source: StoreError) -> CopyError {
    DataError::Store { store: store.to_string(), source }.into()
}
