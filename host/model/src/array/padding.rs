//! Encodes chunks that reach beyond the end of the array.
//!
//! Such a chunk holds fill beyond the end, which becomes data if the array grows. If a lossy codec refuses a chunk
//! because of that fill, the last elements are repeated instead, as zfp does with partial blocks. This applies
//! only along dimensions that never grow.

use ncz_registry::chain::Operation;

use super::lossy_guard::copied;
use super::worker::CodecBuffers;
use super::{Array, region};
use crate::data_error::ChunkError;
use crate::missing_values::MissingValues;

/// The conditions under which lossy codecs receive the chunks of an array.
#[derive(Clone, Debug, Default)]
pub struct LossyTerms {
    /// The dimensions that never grow; none if it is empty.
    pub fixed: Vec<bool>,
    /// The values that must stay missing; `None` if nothing is checked.
    pub guard: Option<MissingValues>,
}

impl Array {
    /// Sets the conditions under which lossy codecs receive its chunks.
    #[must_use]
    pub fn with_terms(mut self, terms: LossyTerms) -> Self {
        self.terms = terms;
        self
    }

    /// Takes the conditions for lossy codecs from another array of the same variable: its missing values, and which of
    /// its dimensions grow.
    #[must_use]
    pub fn with_terms_of(self, other: &Self) -> Self {
        self.with_terms(other.terms.clone())
    }

    /// Whether the last chunks along a dimension may repeat the last elements of the array instead of fill.
    #[must_use]
    pub fn may_repeat(&self, dimension: usize) -> bool {
        self.is_lossy() && self.terms.fixed.get(dimension).is_some_and(|fixed| *fixed)
    }

    /// Converts a chunk of `source`, which has the same grid, to a chunk of this array: repeated last elements become
    /// fill beyond the end of each dimension that may grow here.
    pub fn adapt_padding(&self, source: &Self, index: &[u64], chunk: &mut [u8]) {
        if !source.is_lossy() {
            return;
        }
        let inside = self.chunk_slab(index);
        for (axis, &count) in inside.count().iter().enumerate() {
            if count < self.chunk_shape[axis] && !self.may_repeat(axis) {
                self.each_padding(axis, count, chunk, |_, padding| region::fill(padding, &self.fill));
            }
        }
    }

    /// Whether the error is that of a lossy codec that refuses a chunk, perhaps because of the fill in it.
    #[must_use]
    pub fn refuses(&self, error: &ChunkError) -> bool {
        self.is_lossy() && is_refusal(error)
    }

    fn is_lossy(&self) -> bool {
        self.chain.each_lossy().any(|(_, lossy)| lossy != Some(false))
    }

    /// Encodes a chunk and passes it to `take`. `index` is used only if a codec refuses the chunk.
    pub(super) fn encode_chunk<T>(
        &self,
        buffers: &mut CodecBuffers,
        index: impl FnOnce() -> Vec<u64>,
        chunk: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<T, ChunkError>,
    ) -> Result<T, ChunkError> {
        if !self.is_lossy() {
            return take(self.chain.encode(&mut buffers.chain, chunk)?);
        }
        let error = match self.encode_checked(buffers, chunk, &mut take) {
            Err(error) if is_refusal(&error) => error,
            other => return other,
        };
        let inside = self.chunk_slab(&index());
        let ends = |axis: &usize| inside.count()[*axis] < self.chunk_shape[*axis];
        let (fixed, growing): (Vec<usize>, Vec<usize>) =
            (0..self.chunk_shape.len()).filter(ends).partition(|&axis| self.may_repeat(axis));
        let refused = |error| if growing.is_empty() { error } else { ChunkError::Padded(Box::new(error)) };
        if fixed.is_empty() || inside.count().contains(&0) {
            return Err(refused(error));
        }
        let mut repeated = copied(chunk)?;
        for axis in fixed {
            let count = inside.count()[axis];
            self.each_padding(axis, count, &mut repeated, |last, padding| padding.copy_from_slice(last));
        }
        self.encode_checked(buffers, &repeated, &mut take)
            .map_err(|error| if is_refusal(&error) { refused(error) } else { error })
    }

    /// Calls `put` for each padding element along a dimension, with the last element of the array and the padding
    /// element. `count` elements of the chunk belong to the array.
    fn each_padding(&self, axis: usize, count: u64, chunk: &mut [u8], put: impl Fn(&[u8], &mut [u8])) {
        // The product fits, because the chunk is in memory.
        let inner = self.axes.iter().rev().take_while(|&&inner| inner != axis);
        let step =
            inner.map(|&inner| self.chunk_shape[inner] as usize).product::<usize>() * self.dtype.size();
        let (len, count) = (self.chunk_shape[axis] as usize, count as usize);
        for row in chunk.chunks_exact_mut(len * step) {
            let (data, padding) = row.split_at_mut(count * step);
            let last = data.len().checked_sub(step).map_or(&[][..], |at| &data[at..]);
            padding.chunks_exact_mut(step).for_each(|padding| put(last, padding));
        }
    }
}

/// Whether the chunk may be encoded with other values in place of fill.
fn is_refusal(error: &ChunkError) -> bool {
    match error {
        ChunkError::Chain(error) => error.operation == Operation::Encode,
        ChunkError::MissingChanged { .. }
        | ChunkError::DataMissing { .. }
        | ChunkError::LostBesideMissing { .. }
        | ChunkError::Unreadable(_) => true,
        ChunkError::InShard { source, .. } => is_refusal(source),
        _ => false,
    }
}
