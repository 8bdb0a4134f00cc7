//! Some chunks of a variable, spread over it.

use std::collections::BTreeSet;
use std::time::Instant;

use ncz_model::Container;
use ncz_model::{Array, DataError, Variable, Worker};
use ncz_store::{Depth, Prefix, StoreError};

use super::BenchError;
use crate::tiles::LISTED;

/// A chunk longer than this many samples is cut.
const CUT: u64 = 4;
/// The limit of chunks to read.
const MOST: u64 = 1000;
/// If chunks cannot be listed, at most this many are requested.
const TRIED: u64 = 2000;

/// What chains are tried on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Chunks in the sample.
    pub chunks: u64,
    /// Their bytes when decoded, without the padding beyond the end of a dimension.
    pub bytes: u64,
    /// Bytes of a chunk of the variable when decoded.
    pub chunk_len: u64,
    /// Objects of the variable that exist, if they could be counted: chunks, or shards of chunks.
    pub existing: Option<u64>,
    /// The shape to which chunks were cut because they are too long for the sample.
    pub cut: Option<Vec<u64>>,
}

/// Decoded chunks as they are stored.
pub(super) struct Sample {
    pub(super) chunks: Vec<Vec<u8>>,
    pub(super) summary: Sampled,
}

impl Sample {
    /// Reads chunks of about `bytes` together, fewer if that takes too long.
    pub(super) fn take(
        dataset: &dyn Container,
        variable: &Variable,
        bytes: u64,
        deadline: Instant,
    ) -> Result<Self, BenchError> {
        let array = dataset.array(&variable.path)?;
        let chunk_len = array.chain().chunk_len() as u64;
        let cut = (chunk_len > bytes.saturating_mul(CUT)).then(|| cut(variable, bytes));
        let kept = cut.as_ref().map_or(chunk_len, |(_, len)| *len).max(1);
        let wanted = (bytes / kept).clamp(1, MOST);
        let worker = array.worker();
        let mut reader =
            Reader { array: &array, worker, kept, chunks: Vec::new(), data: 0, wanted, deadline };
        let existing = listed(dataset, &array)?;
        match &existing {
            Some(objects) => reader.read_listed(objects)?,
            None => reader.probe()?,
        }
        let (chunks, data) = (reader.chunks, reader.data);
        let path = || variable.path.clone();
        match (&existing, chunks.is_empty()) {
            (_, false) => {}
            (Some(_), true) => return Err(BenchError::Empty { path: path() }),
            (None, true) => return Err(BenchError::NotMet { path: path(), tried: TRIED }),
        }
        let summary = Sampled {
            chunks: chunks.len() as u64,
            bytes: data,
            chunk_len,
            existing: existing.map(|objects| objects.len() as u64),
            cut: cut.map(|(shape, _)| shape),
        };
        Ok(Self { chunks, summary })
    }
}

/// The shape of a piece of a chunk of at most `bytes`, which lies in one run, and its length.
fn cut(variable: &Variable, bytes: u64) -> (Vec<u64>, u64) {
    let mut shape = variable.chunk_shape.clone();
    let element = variable.dtype.size().max(1) as u64;
    for axis in variable.order.axes(shape.len()) {
        let rest =
            shape.iter().fold(element, |product, len| product.saturating_mul(*len)) / shape[axis].max(1);
        shape[axis] = (bytes / rest.max(1)).clamp(1, shape[axis].max(1));
        if shape[axis] > 1 {
            break;
        }
    }
    let len = shape.iter().fold(element, |product, len| product.saturating_mul(*len));
    (shape, len)
}

/// The existing objects of an array, if the store can list them and they are not too many.
fn listed(dataset: &dyn Container, array: &Array) -> Result<Option<Vec<Vec<u64>>>, DataError> {
    let store = &**dataset.store();
    if !store.capabilities().list {
        return Ok(None);
    }
    let prefix = Prefix::parse(array.key()).unwrap_or(Prefix::ROOT);
    let listing = match store.list(prefix, Depth::All, LISTED as usize) {
        Err(StoreError::TooManyEntries { .. }) => return Ok(None),
        listing => listing.map_err(|source| DataError::Store { store: store.to_string(), source })?,
    };
    // In the order of the array, not of the text of their keys.
    let objects: BTreeSet<Vec<u64>> =
        listing.entries.iter().filter_map(|entry| array.object_index(entry.key.as_str())).collect();
    Ok(Some(objects.into_iter().collect()))
}

struct Reader<'a> {
    array: &'a Array,
    worker: Worker,
    /// Bytes to keep of a chunk.
    kept: u64,
    chunks: Vec<Vec<u8>>,
    /// Their bytes without padding.
    data: u64,
    wanted: u64,
    /// After it, one chunk is enough.
    deadline: Instant,
}

impl Reader<'_> {
    /// Reads chunks of objects that exist, as many of each.
    fn read_listed(&mut self, objects: &[Vec<u64>]) -> Result<(), DataError> {
        let taken = self.wanted.min(objects.len() as u64).max(1);
        let each = self.wanted.div_ceil(taken);
        for number in 0..taken.min(objects.len() as u64) {
            if self.is_enough() {
                break;
            }
            // In the middle of equal parts.
            let at = (2 * number + 1) * objects.len() as u64 / (2 * taken);
            if let Some(object) = objects.get(at as usize) {
                self.read_object(object, each)?;
            }
        }
        Ok(())
    }

    /// Asks for chunks far from each other until there are enough.
    fn probe(&mut self) -> Result<(), DataError> {
        let counts = self.array.object_counts();
        let Some(total) = counts.iter().try_fold(1u64, |product, count| product.checked_mul(*count)) else {
            return Ok(());
        };
        let tries = total.min(TRIED);
        let mut asked = BTreeSet::new();
        for number in 0..tries {
            if self.chunks.len() as u64 >= self.wanted || self.is_enough() {
                break;
            }
            // Multiples of the golden ratio leave no large gap wherever one stops.
            let place = (number as f64 + 0.5) * 0.618_033_988_749_895;
            let mut rest = (place.fract() * total as f64) as u64;
            if total == tries {
                rest = number;
            }
            if !asked.insert(rest) {
                continue;
            }
            let mut index = vec![0; counts.len()];
            for (at, count) in index.iter_mut().zip(&counts).rev() {
                *at = rest % count;
                rest /= count;
            }
            self.read_object(&index, 1)?;
        }
        Ok(())
    }

    /// Reads up to `most` chunks of an object, spread over it.
    fn read_object(&mut self, object: &[u64], most: u64) -> Result<(), DataError> {
        let inner: Vec<Vec<u64>> = self.array.object_chunks(object).collect();
        let mut left = most;
        let parts = most.min(inner.len() as u64).max(1);
        // First the middles of equal parts, then whatever there is: chunks of a shard need not exist.
        let middles = (0..parts).map(|number| ((2 * number + 1) * inner.len() as u64 / (2 * parts)) as usize);
        let middles: BTreeSet<usize> = middles.collect();
        let others = (0..inner.len()).filter(|at| !middles.contains(at)).collect::<Vec<_>>();
        for at in middles.iter().copied().chain(others) {
            if left == 0 || self.is_enough() {
                break;
            }
            let Some(index) = inner.get(at) else { continue };
            left -= u64::from(self.read_chunk(index)?);
        }
        Ok(())
    }

    /// Whether the time for reading is over, and there is something to work with.
    fn is_enough(&self) -> bool {
        !self.chunks.is_empty() && Instant::now() >= self.deadline
    }

    fn read_chunk(&mut self, index: &[u64]) -> Result<bool, DataError> {
        let len = self.array.chain().chunk_len();
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(len).map_err(|_| DataError::Unsupported {
            variable: self.array.path().to_owned(),
            reason: format!("no memory for a chunk of {len} bytes"),
        })?;
        chunk.resize(len, 0);
        if self.array.read_chunk(&mut self.worker, index, &mut chunk)?.is_none() {
            return Ok(false);
        }
        if (self.kept as usize) < chunk.len() {
            // From the middle: the end of a chunk may be padding.
            let pieces = chunk.len() / self.kept as usize;
            let start = pieces / 2 * self.kept as usize;
            chunk.copy_within(start..start + self.kept as usize, 0);
            chunk.truncate(self.kept as usize);
            chunk.shrink_to_fit();
        }
        let element = self.array.dtype().size() as u64;
        let data = self.array.chunk_slab(index).elements().map(|count| count.saturating_mul(element));
        // A piece of a chunk is from its middle.
        self.data += data.unwrap_or(u64::MAX).min(chunk.len() as u64);
        self.chunks.push(chunk);
        Ok(true)
    }
}
