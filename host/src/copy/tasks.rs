//! The chunks of an array as numbers, and spreading work over them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ncz_nczarr::{Array, DataError, Pool, limits};
use ncz_store::{Depth, Prefix, Store};

use super::CopyError;

/// Numbered boxes that tile an array, in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// How many in each dimension.
    counts: Vec<u64>,
    /// Which ones to visit: all up to a number, or those in a list.
    which: Which,
}

#[derive(Clone, Debug)]
enum Which {
    All(u64),
    Some(Vec<u64>),
}

impl Tiles {
    /// All tiles of `shape`, each of lengths `tile`.
    pub(super) fn all(array: &Array, shape: &[u64], tile: &[u64]) -> Result<Self, DataError> {
        let counts: Vec<u64> = shape.iter().zip(tile).map(|(len, tile)| len.div_ceil(*tile)).collect();
        let total = counts.iter().try_fold(1u64, |product, &count| product.checked_mul(count));
        match total {
            Some(total) => Ok(Self { counts, which: Which::All(total) }),
            None => Err(DataError::Unsupported {
                variable: array.path().to_owned(),
                reason: format!("its shape {shape:?} has more than 2^64 chunks of {tile:?}"),
            }),
        }
    }

    /// Leaves out the tiles without a stored chunk where looking at each one would take too long: an
    /// array of 2^50 chunks may have three.
    pub(super) fn existing(self, array: &Array, store: &dyn Store, tile: &[u64]) -> Result<Self, DataError> {
        let few = matches!(self.which, Which::All(total) if total <= limits::CHILDREN as u64);
        if few || !store.capabilities().list {
            return Ok(self);
        }
        let fail = |source| DataError::Store { store: store.to_string(), source };
        let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
        let listing = store.list(prefix, Depth::All, limits::CHILDREN).map_err(fail)?;
        let mut numbers: Vec<u64> = listing
            .entries
            .iter()
            .filter_map(|entry| array.chunk_index(entry.key.as_str()))
            .flat_map(|index| self.touched(&index, array.chunk_shape(), tile))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self { which: Which::Some(numbers), ..self })
    }

    /// How many tiles there are to visit.
    pub(super) fn len(&self) -> u64 {
        match &self.which {
            Which::All(total) => *total,
            Which::Some(numbers) => numbers.len() as u64,
        }
    }

    /// The coordinates of the `position`-th tile to visit.
    pub(super) fn index(&self, position: u64) -> Vec<u64> {
        let mut rest = match &self.which {
            Which::All(_) => position,
            Which::Some(numbers) => numbers.get(position as usize).copied().unwrap_or(0),
        };
        let mut index = vec![0; self.counts.len()];
        for (at, count) in index.iter_mut().zip(&self.counts).rev() {
            *at = rest % count;
            rest /= count;
        }
        index
    }

    /// The numbers of the tiles that a chunk of the source touches.
    fn touched(&self, index: &[u64], chunk: &[u64], tile: &[u64]) -> Vec<u64> {
        let mut numbers = vec![0u64];
        for (dimension, &count) in self.counts.iter().enumerate() {
            let low = index[dimension].saturating_mul(chunk[dimension]);
            let high = low.saturating_add(chunk[dimension] - 1);
            let span = low / tile[dimension]..=(high / tile[dimension]).min(count.saturating_sub(1));
            numbers =
                numbers.iter().flat_map(|number| span.clone().map(move |i| number * count + i)).collect();
        }
        numbers
    }
}

/// Calls `step` for each of `count` positions on all threads, each thread with a state of its own, until
/// one fails.
pub(super) fn for_each<S>(
    pool: &Pool,
    count: u64,
    state: impl Fn() -> S + Sync,
    step: impl Fn(&mut S, u64) -> Result<(), CopyError> + Sync,
) -> Result<(), CopyError> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<CopyError>> = Mutex::new(None);
    pool.run(count, &|| {
        let mut state = state();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed) as u64;
            let failed = failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            if position >= count || failed {
                return;
            }
            if let Err(error) = step(&mut state, position) {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                return;
            }
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(()),
        Some(error) => Err(error),
    }
}
