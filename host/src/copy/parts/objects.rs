//! The objects of the copy that a part makes.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use ncz_model::{Array, DataError, Slab, SlabPart};
use ncz_store::{Depth, EntryKind, Key, Prefix, Store, StoreError};
use ncz_zarr::Dataset as ZarrDataset;

use super::source::Hash;
use super::{Part, PartsError, Region};
use crate::byte_array::byte_array;
use crate::parallelism::Parallelism;
use crate::tiles::LISTED;

/// Finds the objects of a copy. Those of one variable after the other are looked for.
#[derive(Debug)]
pub(super) struct Objects<'a> {
    copy: &'a ZarrDataset,
    /// Whether objects are listed, which takes fewer requests for many parts.
    listing: bool,
    /// The variable that was looked at last.
    last: Option<Keys>,
}

/// The objects of a variable.
#[derive(Debug)]
struct Keys {
    variable: String,
    array: Array,
    /// Those that are there, unless they are too many, with their lengths where the listing says them.
    listed: Option<HashMap<String, Option<u64>>>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(copy: &'a ZarrDataset, listing: bool) -> Self {
        Self { copy, listing, last: None }
    }

    /// The hash of the keys and lengths of those objects of a part that are there.
    pub(super) fn hash(&mut self, part: &Part) -> Result<String, PartsError> {
        let mut hash = Hash::new();
        for region in &part.regions {
            for (key, len) in self.in_region(region)? {
                // Writing to a hash does not fail.
                let _ = writeln!(hash, "{key:?} {len}");
            }
        }
        Ok(hash.text())
    }

    /// The keys and lengths of those objects of a region that are there, in the order of its chunks.
    fn in_region(&mut self, region: &Region) -> Result<Vec<(String, u64)>, PartsError> {
        let copy = self.copy;
        let keys = match self.last.take() {
            Some(keys) if keys.variable == region.variable => keys,
            _ => Keys::of(copy, &region.variable, self.listing)?,
        };
        let keys = self.last.insert(keys);
        let (array, slab) = (&keys.array, Slab::new(region.start.clone(), region.shape.clone()));
        let names = slab.parts(array.object_shape()).map(|SlabPart { chunk, .. }| array.object_key(&chunk));
        let names: Vec<(String, Option<u64>)> = match &keys.listed {
            Some(listed) => {
                let with_len = |name: String| listed.get(&name).copied().map(|len| (name, len));
                names.filter_map(with_len).collect()
            }
            None => names.map(|name| (name, None)).collect(),
        };
        existing(copy, names)
    }
}

impl Keys {
    fn of(copy: &ZarrDataset, path: &str, listing: bool) -> Result<Self, PartsError> {
        let array = byte_array(copy, copy.hierarchy().variable(path).map_err(DataError::from)?)?;
        let store = copy.store();
        let prefix = Prefix::parse(array.key()).map_err(|error| PartsError::store(store)(error.into()))?;
        let listed = match listing.then(|| store.list(prefix, Depth::All, LISTED as usize)) {
            None | Some(Err(StoreError::TooManyEntries { .. })) => None,
            Some(listing) => {
                let entries = listing.map_err(PartsError::store(store))?.entries.into_iter();
                let objects = entries.filter(|entry| entry.kind == EntryKind::Object);
                Some(objects.map(|entry| (entry.key.as_str().to_owned(), entry.len)).collect())
            }
        };
        Ok(Self { variable: path.to_owned(), array, listed })
    }
}

/// Those of these objects that are there, with their lengths. The store is asked for those that are not known.
fn existing(
    copy: &ZarrDataset,
    mut names: Vec<(String, Option<u64>)>,
) -> Result<Vec<(String, u64)>, PartsError> {
    let store: &Arc<dyn Store> = copy.store();
    let parallelism = Parallelism {
        pool: &copy.session().pool,
        stores: [&**store; 2],
        bytes: 1 << 10,
        one_by_one: false,
        limit: u64::MAX,
    };
    let unknown: Vec<usize> = (0..names.len()).filter(|at| names[*at].1.is_none()).collect();
    let look = |found: &mut Vec<(usize, u64)>, number: u64| {
        let Some(&at) = unknown.get(number as usize) else { return Ok(()) };
        let len = Key::parse(&names[at].0).map_err(StoreError::from).and_then(|key| store.len(key));
        found.extend(len.map_err(PartsError::store(store))?.map(|len| (at, len)));
        Ok::<_, PartsError>(())
    };
    let found = parallelism.for_each(unknown.len() as u64, Vec::new, look)?;
    found.into_iter().flatten().for_each(|(at, len)| names[at].1 = Some(len));
    Ok(names.into_iter().filter_map(|(name, len)| Some((name, len?))).collect())
}
