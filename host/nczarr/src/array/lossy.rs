//! What lossy codecs get, and what they must leave as it is.
//!
//! Values that stand for missing ones stay what they are, no others become them, and they do not take those beside them
//! along: in a block of zfp that keeps so many bits, netCDF's fill value, 9.97e36, leaves none for a temperature. A chunk
//! that comes back otherwise is refused.
//!
//! The last chunks hold fill behind the end of the array, which becomes data where an array gets longer. If a codec
//! refuses a chunk for it, the last elements are repeated in its place, as zfp itself does it with blocks that are not
//! full: but only along dimensions that never get longer.

use ncz_registry::chain::Operation;

use super::worker::Bench;
use super::{Array, region};
use crate::data_error::ChunkFault;
use crate::missing::{Changed, Missing};

/// On what terms lossy codecs get the chunks of an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossyTerms {
    /// Which dimensions never get longer; none, where it is empty.
    pub(crate) fixed: Vec<bool>,
    /// What stands for missing values.
    pub(crate) missing: Option<Missing>,
}

impl Array {
    pub(crate) fn with_terms(mut self, terms: LossyTerms) -> Self {
        self.terms = terms;
        self
    }

    /// Lets lossy codecs have its chunks on the terms of another array of the same variable: what stands for missing
    /// values, and which dimensions get longer.
    #[must_use]
    pub fn with_terms_of(self, other: &Self) -> Self {
        self.with_terms(other.terms.clone())
    }

    /// Whether its last chunks along a dimension may hold the last elements of the array once more, not fill.
    #[must_use]
    pub fn may_repeat(&self, dimension: usize) -> bool {
        self.is_lossy() && self.terms.fixed.get(dimension).is_some_and(|fixed| *fixed)
    }

    /// Makes a chunk of `source`, which has the same grid, one of this array: where lossy codecs may have had the last
    /// elements once more, fill stands behind its end along dimensions that may get longer here.
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

    /// Whether lossy codecs refuse a chunk, perhaps for the fill in it.
    pub(crate) fn refuses(&self, fault: &ChunkFault) -> bool {
        self.is_lossy() && is_refusal(fault)
    }

    fn is_lossy(&self) -> bool {
        self.chain.each_lossy().any(|(_, lossy)| lossy != Some(false))
    }

    /// Encodes a chunk and hands it to `take`. `index` says where it is, which matters where a codec refuses it.
    pub(super) fn encode_chunk<T>(
        &self,
        bench: &mut Bench,
        index: impl FnOnce() -> Vec<u64>,
        chunk: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<T, ChunkFault>,
    ) -> Result<T, ChunkFault> {
        if !self.is_lossy() {
            return take(self.chain.encode(&mut bench.chain, chunk)?);
        }
        let fault = match self.encode_checked(bench, chunk, &mut take) {
            Err(fault) if is_refusal(&fault) => fault,
            other => return other,
        };
        let inside = self.chunk_slab(&index());
        let ends = |axis: &usize| inside.count()[*axis] < self.chunk_shape[*axis];
        let (fixed, growing): (Vec<usize>, Vec<usize>) =
            (0..self.chunk_shape.len()).filter(ends).partition(|&axis| self.may_repeat(axis));
        let refused = |fault| if growing.is_empty() { fault } else { ChunkFault::Padded(Box::new(fault)) };
        if fixed.is_empty() || inside.count().contains(&0) {
            return Err(refused(fault));
        }
        let mut repeated = copied(chunk)?;
        for axis in fixed {
            let count = inside.count()[axis];
            self.each_padding(axis, count, &mut repeated, |last, padding| padding.copy_from_slice(last));
        }
        self.encode_checked(bench, &repeated, &mut take)
            .map_err(|fault| if is_refusal(&fault) { refused(fault) } else { fault })
    }

    /// Encodes a chunk if missing values stay missing, no others become so, and those beside them stay what they are.
    fn encode_checked<T>(
        &self,
        bench: &mut Bench,
        chunk: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<T, ChunkFault>,
    ) -> Result<T, ChunkFault> {
        let Bench { chain: scratch, encoded, read, .. } = bench;
        let Some(missing) = &self.terms.missing else {
            return take(self.chain.encode(scratch, chunk)?);
        };
        put(self.chain.encode(scratch, chunk)?, encoded)?;
        put(chunk, read)?;
        self.chain.decode(0, scratch, encoded, read).map_err(ChunkFault::Unreadable)?;
        if read.as_slice() == chunk {
            return take(encoded);
        }
        let codec = || {
            let info = self.chain.each_lossy().find(|(_, lossy)| *lossy != Some(false));
            info.map_or_else(String::new, |(info, _)| info.name.to_string())
        };
        match missing.first_changed(chunk, read) {
            Some(Changed::Missing { value, read }) => {
                return Err(ChunkFault::MissingChanged {
                    name: value.name,
                    value: missing.shown(&value.element),
                    read: missing.shown(read),
                    codec: codec(),
                });
            }
            Some(Changed::Data { element, value }) => {
                return Err(ChunkFault::DataMissing {
                    value: missing.shown(element),
                    name: value.name,
                    read: missing.shown(&value.element),
                    codec: codec(),
                });
            }
            None => {}
        }
        if missing.first_lost(chunk, read, None).is_some() {
            // Small numbers may be lost this way and not that way by chance.
            let mut without = copied(chunk)?;
            if !missing.replace(&mut without) {
                return take(encoded);
            }
            let mut also = copied(&without)?;
            let usual = match self.chain.encode(scratch, &without).map(copied) {
                Ok(encoded) => {
                    self.chain.decode(0, scratch, &encoded?, &mut also).map_err(ChunkFault::Unreadable)?;
                    Some(missing.usual(&without, &also))
                }
                Err(_) => None,
            };
            if let Some(at) = missing.first_lost(chunk, read, usual.as_ref()) {
                return Err(ChunkFault::LostBesideMissing {
                    value: missing.shown(missing.element(chunk, at)),
                    read: missing.shown(missing.element(read, at)),
                    codec: codec(),
                });
            }
        }
        take(encoded)
    }

    /// Calls `put` with the last elements along a dimension, of which `count` in a chunk belong to the array, and each
    /// that lie behind them.
    fn each_padding(&self, axis: usize, count: u64, chunk: &mut [u8], put: impl Fn(&[u8], &mut [u8])) {
        // Lengths of a chunk fit: it is in memory.
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

/// Whether a chunk with other values in the place of fill may be encoded.
fn is_refusal(fault: &ChunkFault) -> bool {
    match fault {
        ChunkFault::Chain(error) => error.operation == Operation::Encode,
        ChunkFault::MissingChanged { .. }
        | ChunkFault::DataMissing { .. }
        | ChunkFault::LostBesideMissing { .. }
        | ChunkFault::Unreadable(_) => true,
        ChunkFault::InShard { source, .. } => is_refusal(source),
        _ => false,
    }
}

fn copied(bytes: &[u8]) -> Result<Vec<u8>, ChunkFault> {
    let mut copy = Vec::new();
    put(bytes, &mut copy)?;
    Ok(copy)
}

fn put(bytes: &[u8], copy: &mut Vec<u8>) -> Result<(), ChunkFault> {
    let len = bytes.len();
    copy.clear();
    copy.try_reserve_exact(len).map_err(|_| ChunkFault::Memory { len })?;
    copy.extend_from_slice(bytes);
    Ok(())
}
