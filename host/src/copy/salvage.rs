//! Chunks of the source that cannot be read, which a copy leaves out and lists.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ncz_model::{
    ChunkError, DataError, FillText, FillValue, Format, NcType, Slab, StringError, Value, Variable,
};
use ncz_registry::chain::Operation;
use ncz_store::StoreError;

use crate::agreement::{Side, is_masked_by_all};
use crate::causes::with_causes;
use crate::conversion::Inexact;

/// A chunk that cannot be read: its elements are fill in the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostChunk {
    /// Its coordinates among the chunks of the original.
    pub index: Vec<u64>,
    /// Its elements in the original.
    pub slab: Slab,
    /// Why it cannot be read, with all causes.
    pub reason: String,
}

/// The chunks of a variable that were found to be unreadable, with the reasons.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    lost: Mutex<BTreeMap<Vec<u64>, String>>,
    /// Whether no chunk is added any more, since the copy is made.
    is_closed: AtomicBool,
    /// The element that is read instead: the value that readers mask, or else NaN, or the fill value.
    pub(super) fill: Vec<u8>,
    /// Whether chunks of it are written, since missing chunks of the copy read as something else.
    pub(super) is_written: bool,
}

impl Salvage {
    /// For a variable that is copied; `was` is the format of the source. Floating-point numbers are NaN where not all
    /// readers of the copy mask a number, if its codecs keep that.
    pub(super) fn new(
        original: &Variable,
        was: Format,
        (planned, copy): Side<'_>,
        is_lossless: bool,
    ) -> Self {
        let element = |value: &Value| {
            let fill = FillValue::from_value(value, &original.dtype, FillText::of(was)).ok()?;
            Some(fill.bytes().to_vec()).filter(|bytes| bytes.len() == original.dtype.size())
        };
        let masked = original.masked_value(was).filter(|_| is_masked_by_all((planned, copy)));
        let nan = match original.nc_type {
            Some(NcType::Float) if is_lossless => Some(Value::Float(vec![f32::NAN])),
            Some(NcType::Double) if is_lossless => Some(Value::Double(vec![f64::NAN])),
            _ => None,
        };
        let fill = masked.or(nan).as_ref().and_then(element).unwrap_or_else(|| original.fill_bytes());
        let is_written = fill != planned.fill_bytes();
        Self { fill, is_written, ..Self::default() }
    }

    /// Fills a buffer of elements.
    pub(super) fn fill(&self, out: &mut [u8]) {
        out.chunks_exact_mut(self.fill.len().max(1)).for_each(|element| element.copy_from_slice(&self.fill));
    }

    /// Makes it an error when a chunk cannot be read that was copied.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Whether the chunk is lost.
    pub(super) fn has(&self, index: &[u64]) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).contains_key(index)
    }

    /// Notes that these chunks cannot be read.
    ///
    /// # Errors
    /// The error itself, if another chunk could be read where it occurs.
    pub(super) fn lose(
        &self,
        chunks: impl IntoIterator<Item = Vec<u64>>,
        error: DataError,
    ) -> Result<(), DataError> {
        if self.is_closed.load(Ordering::Relaxed) || !is_of_chunk(&error) {
            return Err(error);
        }
        let reason = with_causes(&error);
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.extend(chunks.into_iter().map(|index| (index, reason.clone())));
        Ok(())
    }

    /// The lost chunks; `slab` gives the elements of a chunk.
    pub(super) fn list(&self, slab: impl Fn(&[u64]) -> Slab) -> Vec<LostChunk> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = |(index, reason): (&Vec<u64>, &String)| LostChunk {
            index: index.clone(),
            slab: slab(index),
            reason: reason.clone(),
        };
        lost.iter().map(chunk).collect()
    }
}

/// Whether an error of reading is about a chunk of the source: other chunks may well be readable.
pub(super) fn is_of_chunk(error: &DataError) -> bool {
    fn is_of_it(error: &ChunkError) -> bool {
        match error {
            ChunkError::InShard { source, .. } => is_of_it(source),
            ChunkError::Memory { .. } | ChunkError::LongRows { .. } | ChunkError::NotAnObject => false,
            // The whole dataset.
            ChunkError::Store(error) => !matches!(error, StoreError::Gone { .. }),
            ChunkError::Chain(error) => error.operation == Operation::Decode,
            // A dataset that is made of others.
            ChunkError::Index(error) | ChunkError::Elements(error) => match error.downcast_ref::<DataError>()
            {
                Some(error) => is_of_chunk(error),
                None => !error.is::<Inexact>(),
            },
            _ => true,
        }
    }
    match error {
        DataError::Chunk { source, .. } => is_of_it(source),
        DataError::String { source, .. } => matches!(source, StringError::Code { .. }),
        _ => false,
    }
}

/// The numbers of the elements at which the rows of a part of a slab begin, in row-major order: the part of lengths
/// `len` is at the coordinates `at` of the slab of lengths `count`.
pub(super) fn rows(count: &[u64], at: &[u64], len: &[u64]) -> impl Iterator<Item = usize> {
    let outer = len.len().saturating_sub(1);
    let all: u64 = len.iter().take(outer).product();
    (0..all).map(move |row| {
        let mut rest = row;
        let mut number = 0;
        let mut step = 1;
        for d in (0..len.len()).rev() {
            let inside = if d == outer {
                0
            } else {
                let inside = rest % len[d];
                rest /= len[d];
                inside
            };
            number += (at[d] + inside) * step;
            step *= count[d];
        }
        number as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_part_are_found_in_the_slab() {
        let starts = |count: &[u64], at: &[u64], len: &[u64]| rows(count, at, len).collect::<Vec<_>>();
        assert_eq!(starts(&[4, 5], &[1, 2], &[2, 3]), [7, 12]);
        assert_eq!(starts(&[2, 3, 4], &[0, 1, 0], &[2, 2, 4]), [4, 8, 16, 20]);
        assert_eq!(starts(&[9], &[3], &[4]), [3]);
        assert_eq!(starts(&[], &[], &[]), [0]);
    }
}
