//! Boxes that tile an array, by number, and windows of one array in another.

mod window;

use ncz_model::{Array, DataError};
use ncz_store::{Depth, Prefix, Store, StoreError};

pub use self::window::Indices;
pub(crate) use self::window::Window;

/// Up to this many tiles are visited one by one. For more, the chunks are listed, if they are no more than this: an
/// entry takes about 100 bytes.
pub(crate) const LISTED: u64 = 250_000;

/// Up to this many tiles are visited one by one, also where the stored chunks are known.
const FEW: u64 = 1000;

/// If there are more chunks than can be listed, up to this many tiles are visited one by one.
pub(crate) const PROBED: u64 = 1 << 32;

/// Numbers of tiles to keep, half of the most.
const TOUCHED: u64 = 500_000;

/// Numbered boxes that tile an array, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// The coordinates of the first one.
    first: Vec<u64>,
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
    pub(crate) fn all(array: &Array, shape: &[u64], tile: &[u64]) -> Result<Self, DataError> {
        Self::of_box(array, &vec![0; shape.len()], shape, tile)
    }

    /// The tiles of lengths `tile` that the target's side of a window touches.
    pub(crate) fn of_window(array: &Array, window: &Window, tile: &[u64]) -> Result<Self, DataError> {
        Self::of_box(array, &window.offset(), &window.end(), tile)
    }

    fn of_box(array: &Array, start: &[u64], end: &[u64], tile: &[u64]) -> Result<Self, DataError> {
        let first: Vec<u64> = start.iter().zip(tile).map(|(start, tile)| start / tile).collect();
        let ends = start.iter().zip(end).zip(tile).zip(&first);
        let counts: Vec<u64> = ends
            .map(|(((start, end), tile), first)| if end > start { end.div_ceil(*tile) - first } else { 0 })
            .collect();
        let total =
            if counts.contains(&0) { Some(0) } else { counts.iter().copied().try_fold(1, u64::checked_mul) };
        match total {
            Some(total) => Ok(Self { first, counts, which: Which::All(total) }),
            None => Err(DataError::Unsupported {
                variable: array.path().to_owned(),
                reason: format!("its shape {end:?} has more than 2^64 chunks of {tile:?}"),
            }),
        }
    }

    /// These tiles, of an array with `counts` tiles in each dimension.
    pub(crate) fn some(counts: Vec<u64>, numbers: Vec<u64>) -> Self {
        Self { first: vec![0; counts.len()], counts, which: Which::Some(numbers) }
    }

    /// As [`existing`](Self::existing), but visits each tile if the stored chunks cannot be listed.
    pub(crate) fn existing_or_all(
        self,
        array: &Array,
        store: &dyn Store,
        window: &Window,
        tile: &[u64],
    ) -> Result<Self, DataError> {
        let total = self.len();
        let all = self.clone();
        match self.existing(array, store, window, tile) {
            Err(DataError::Store { .. }) if total <= PROBED => Ok(all),
            other => other,
        }
    }

    /// Removes the tiles without a stored chunk, if visiting each tile would take too long: an array of 2^50 chunks may
    /// have stored three. `array` is read through the window.
    pub(crate) fn existing(
        self,
        array: &Array,
        store: &dyn Store,
        window: &Window,
        tile: &[u64],
    ) -> Result<Self, DataError> {
        let total = self.len();
        if let Some(stored) = (total > FEW).then(|| array.stored_objects()).flatten() {
            return self.touching(array, window, tile, stored.into_iter());
        }
        if total <= LISTED || !store.capabilities().list {
            return Ok(self);
        }
        let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
        let listing = match store.list(prefix, Depth::All, LISTED as usize) {
            // Most of them may exist.
            Err(StoreError::TooManyEntries { .. }) if total <= PROBED => return Ok(self),
            listing => listing.map_err(|source| DataError::Store { store: store.to_string(), source })?,
        };
        let stored = listing.entries.iter().filter_map(|entry| array.object_index(entry.key.as_str()));
        self.touching(array, window, tile, stored)
    }

    /// The tiles that any of these objects touches.
    fn touching(
        self,
        array: &Array,
        window: &Window,
        tile: &[u64],
        stored: impl Iterator<Item = Vec<u64>>,
    ) -> Result<Self, DataError> {
        let total = self.len();
        let mut numbers = Vec::new();
        for index in stored {
            if !self.touched(&index, array.object_shape(), window, tile, &mut numbers) {
                if total <= PROBED {
                    return Ok(self);
                }
                return Err(DataError::Unsupported {
                    variable: array.path().to_owned(),
                    reason: format!(
                        "its chunks lie across too many boxes of {tile:?}; ask for chunks more like its own"
                    ),
                });
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self { which: Which::Some(numbers), ..self })
    }

    /// How many tiles there are to visit.
    pub(crate) fn len(&self) -> u64 {
        match &self.which {
            Which::All(total) => *total,
            Which::Some(numbers) => numbers.len() as u64,
        }
    }

    /// The coordinates of the `position`-th tile to visit.
    pub(crate) fn index(&self, position: u64) -> Vec<u64> {
        let mut rest = match &self.which {
            Which::All(_) => position,
            Which::Some(numbers) => numbers.get(position as usize).copied().unwrap_or(0),
        };
        let mut index = vec![0; self.counts.len()];
        for (at, count) in index.iter_mut().zip(&self.counts).rev() {
            *at = rest % count;
            rest /= count;
        }
        index.iter_mut().zip(&self.first).for_each(|(at, first)| *at += first);
        index
    }

    /// Adds the numbers of the tiles that a chunk of the source touches; `false` if they are too many.
    fn touched(
        &self,
        index: &[u64],
        chunk: &[u64],
        window: &Window,
        tile: &[u64],
        all: &mut Vec<u64>,
    ) -> bool {
        let span = |d: usize| {
            let low = index[d].saturating_mul(chunk[d]);
            let (low, high) = window.through(d, low, low.saturating_add(chunk[d] - 1))?;
            let tile_of = |at: u64| (at / tile[d]).saturating_sub(self.first[d]);
            Some(tile_of(low)..=tile_of(high).min(self.counts[d] - 1))
        };
        let Some(spans) = (0..self.counts.len()).map(span).collect::<Option<Vec<_>>>() else { return true };
        let len = spans.iter().try_fold(1u64, |len, span| len.checked_mul(span.end() - span.start() + 1));
        if len.is_none_or(|len| len > TOUCHED) {
            return false;
        }
        let mut numbers = vec![0u64];
        for (span, count) in spans.into_iter().zip(&self.counts) {
            numbers =
                numbers.iter().flat_map(|number| span.clone().map(move |i| number * count + i)).collect();
        }
        all.extend(numbers);
        if all.len() as u64 > 2 * TOUCHED {
            all.sort_unstable();
            all.dedup();
        }
        all.len() as u64 <= 2 * TOUCHED
    }
}

/// Calls `put` with each run of elements of a slab with these lengths in a chunk where it begins at `start`: the first
/// element of the run in the slab, its first in the chunk, and their number. A scalar is one run.
pub(crate) fn each_run(
    count: &[u64],
    start: &[u64],
    chunk_shape: &[u64],
    mut put: impl FnMut(usize, usize, usize),
) {
    let Some((&run, outer)) = count.split_last() else { return put(0, 0, 1) };
    let rows: u64 = outer.iter().product();
    for row in 0..rows {
        let (mut rest, mut at, mut step) = (row, 0, 1);
        for (axis, (len, start)) in chunk_shape.iter().zip(start).enumerate().rev() {
            let index = match outer.get(axis) {
                Some(count) => {
                    let index = rest % count;
                    rest /= count;
                    index
                }
                None => 0,
            };
            at += (start + index) * step;
            step *= len;
        }
        put((row * run) as usize, at as usize, run as usize);
    }
}
