//! The objects of the copy that a part makes.

use std::collections::HashSet;
use std::sync::Arc;

use ncz_model::{Array, DataError, Slab, SlabPart};
use ncz_store::{Depth, EntryKind, Key, Prefix, Store, StoreError, StoreExt};
use ncz_zarr::Dataset as ZarrDataset;

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
    /// Those that are there, unless they are too many.
    listed: Option<HashSet<String>>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(copy: &'a ZarrDataset, listing: bool) -> Self {
        Self { copy, listing, last: None }
    }

    /// How many objects of a part there are.
    pub(super) fn count(&mut self, part: &Part) -> Result<u64, PartsError> {
        part.regions.iter().map(|region| self.in_region(region)).sum()
    }

    fn in_region(&mut self, region: &Region) -> Result<u64, PartsError> {
        let copy = self.copy;
        let keys = match self.last.take() {
            Some(keys) if keys.variable == region.variable => keys,
            _ => Keys::of(copy, &region.variable, self.listing)?,
        };
        let keys = self.last.insert(keys);
        let (array, slab) = (&keys.array, Slab::new(region.start.clone(), region.shape.clone()));
        let names = slab.parts(array.object_shape()).map(|SlabPart { chunk, .. }| array.object_key(&chunk));
        match &keys.listed {
            Some(listed) => Ok(names.filter(|name| listed.contains(name)).count() as u64),
            None => existing(copy, &names.collect::<Vec<_>>()),
        }
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
                Some(objects.map(|entry| entry.key.as_str().to_owned()).collect())
            }
        };
        Ok(Self { variable: path.to_owned(), array, listed })
    }
}

/// How many of these objects there are.
fn existing(copy: &ZarrDataset, names: &[String]) -> Result<u64, PartsError> {
    let store: &Arc<dyn Store> = copy.store();
    let parallelism = Parallelism {
        pool: &copy.session().pool,
        stores: [&**store; 2],
        bytes: 1 << 10,
        one_by_one: false,
        limit: u64::MAX,
    };
    let look = |found: &mut u64, number: u64| {
        let Some(name) = names.get(number as usize) else { return Ok(()) };
        let exists = Key::parse(name).map_err(StoreError::from).and_then(|key| store.exists(key));
        *found += u64::from(exists.map_err(PartsError::store(store))?);
        Ok::<_, PartsError>(())
    };
    Ok(parallelism.for_each(names.len() as u64, || 0, look)?.into_iter().sum())
}
