//! The chunks of a variable of several datasets.

use std::sync::{Arc, OnceLock};

use ncz_model::{
    Array, ChunkError, ChunkIndex, ChunkLocation, Container, DataError, Elements, Extent, Slab, SourceError,
    StringArray, StringChunks, Strings, Variable,
};

use super::Part;
use super::parts_store;
use crate::tiles::each_run;

/// Chunks as the datasets store them: a chunk, or a part of one that has no codecs.
#[derive(Debug)]
pub(super) struct StoredChunks {
    pub(super) parts: Arc<[Part]>,
    pub(super) path: String,
    /// The dimension along which the datasets follow each other; `None` if all chunks are those of the first one.
    pub(super) axis: Option<usize>,
    /// The number, along that dimension, of the first chunk of each dataset.
    pub(super) first: Vec<u64>,
    /// How chunks are parts of stored ones; `None` if they are stored ones.
    pub(super) split: Option<Split>,
    pub(super) indexes: Vec<OnceLock<Arc<dyn ChunkIndex>>>,
}

/// Chunks that are parts of stored ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// How many of them are one stored chunk, in each dataset.
    pub(super) together: Vec<u64>,
    /// The bytes of one.
    pub(super) len: u64,
}

impl StoredChunks {
    fn index(&self, part: usize) -> Result<&Arc<dyn ChunkIndex>, SourceError> {
        let (Some(index), Some(Part { dataset, .. })) = (self.indexes.get(part), self.parts.get(part)) else {
            return Err("there is no such dataset".into());
        };
        if let Some(index) = index.get() {
            return Ok(index);
        }
        let variable = dataset.hierarchy().variable(&self.path).map_err(DataError::from);
        let read = variable.and_then(|variable| dataset.chunks(variable))?;
        Ok(index.get_or_init(|| read))
    }
}

impl ChunkIndex for StoredChunks {
    fn locate(&self, chunk: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        let mut chunk = chunk.to_vec();
        let mut part = 0;
        let mut within = 0;
        if let Some(number) = self.axis.and_then(|axis| chunk.get_mut(axis)) {
            part = self.first.partition_point(|first| first <= number).saturating_sub(1);
            *number -= self.first.get(part).copied().unwrap_or(0);
            if let Some(together) = self.split.as_ref().and_then(|split| split.together.get(part)) {
                within = *number % together;
                *number /= together;
            }
        }
        self.index(part).map_err(ChunkError::Index)?.locate(&chunk, location)?;
        parts_store::join(part, &mut location.key);
        let Some(Split { len, .. }) = self.split else { return Ok(()) };
        let skipped = within.saturating_mul(len);
        match &mut location.extent {
            Extent::Range(range) => {
                let start = range.start.saturating_add(skipped).min(range.end);
                *range = start..start.saturating_add(len).min(range.end);
            }
            Extent::Inline(bytes) => {
                let start = usize::try_from(skipped).unwrap_or(usize::MAX).min(bytes.len());
                let end = usize::try_from(skipped.saturating_add(len)).unwrap_or(usize::MAX).min(bytes.len());
                *bytes = bytes.get(start..end).unwrap_or_default().into();
            }
            Extent::Missing => {}
            Extent::Object => return Err(ChunkError::Index("a part of an object is not a chunk".into())),
        }
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        ""
    }

    fn has_neighbours(&self) -> bool {
        self.index(0).is_ok_and(|index| index.has_neighbours())
    }
}

/// The datasets of a variable whose chunks are assembled from decoded elements.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) parts: Arc<[Part]>,
    pub(super) path: String,
    pub(super) axis: usize,
    pub(super) shape: Vec<u64>,
    pub(super) chunk_shape: Vec<u64>,
}

/// The part of a chunk that one dataset has.
struct Piece {
    part: usize,
    /// In that dataset.
    slab: Slab,
    /// Its first element in the chunk.
    start: Vec<u64>,
}

impl Assembly {
    pub(super) fn new(parts: &Arc<[Part]>, variable: &Variable, shape: Vec<u64>, axis: usize) -> Self {
        let (path, chunk_shape) = (variable.path.clone(), variable.chunk_shape.clone());
        Self { parts: Arc::clone(parts), path, axis, shape, chunk_shape }
    }

    fn pieces(&self, chunk: &[u64]) -> Vec<Piece> {
        let low: Vec<u64> =
            chunk.iter().zip(&self.chunk_shape).map(|(at, len)| at.saturating_mul(*len)).collect();
        let lens = low.iter().zip(&self.chunk_shape).zip(&self.shape);
        let high: Vec<u64> = lens.map(|((low, len), end)| low.saturating_add(*len).min(*end)).collect();
        let (Some(&first), Some(&end)) = (low.get(self.axis), high.get(self.axis)) else { return Vec::new() };
        let piece = |(number, part): (usize, &Part)| {
            let (from, until) = (first.max(part.start), end.min(part.start.saturating_add(part.len)));
            let (mut start, mut in_chunk) = (low.clone(), vec![0; low.len()]);
            let mut count: Vec<u64> =
                low.iter().zip(&high).map(|(low, high)| high.saturating_sub(*low)).collect();
            *start.get_mut(self.axis)? = from.checked_sub(part.start)?;
            *in_chunk.get_mut(self.axis)? = from - first;
            *count.get_mut(self.axis)? = until.checked_sub(from).filter(|count| *count > 0)?;
            Some(Piece { part: number, slab: Slab::new(start, count), start: in_chunk })
        };
        self.parts.iter().enumerate().filter_map(piece).collect()
    }

    /// Calls `put` with each run of elements: its first in the piece, its first in the chunk, and their number.
    fn each_run(&self, piece: &Piece, put: impl FnMut(usize, usize, usize)) {
        each_run(piece.slab.count(), &piece.start, &self.chunk_shape, put);
    }
}

/// Chunks without codecs that are assembled from the elements of the datasets.
#[derive(Debug)]
pub(super) struct AssembledChunks {
    pub(super) assembly: Assembly,
    /// One element of fill.
    pub(super) fill: Vec<u8>,
    pub(super) arrays: Vec<OnceLock<Array>>,
}

impl AssembledChunks {
    fn array(&self, part: usize) -> Result<&Array, SourceError> {
        let (Some(array), Some(Part { dataset, .. })) =
            (self.arrays.get(part), self.assembly.parts.get(part))
        else {
            return Err("there is no such dataset".into());
        };
        if let Some(array) = array.get() {
            return Ok(array);
        }
        let opened = dataset.array(&self.assembly.path)?;
        Ok(array.get_or_init(|| opened))
    }
}

impl ChunkIndex for AssembledChunks {
    fn locate(&self, chunk: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        let Assembly { path, chunk_shape, .. } = &self.assembly;
        path.trim_matches('/').clone_into(&mut location.key);
        location.filter_mask = 0;
        location.extent = Extent::Missing;
        let element = self.fill.len();
        let elements = ncz_model::product(chunk_shape.iter().copied().chain([element as u64]));
        let len = elements.and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        while bytes.len() < len {
            bytes.extend_from_slice(&self.fill);
        }
        let (mut any, mut read) = (false, Vec::new());
        for piece in self.assembly.pieces(chunk) {
            let array = self.array(piece.part).map_err(ChunkError::Index)?;
            // A piece is not longer than the chunk.
            let len = piece.slab.elements().unwrap_or(0) as usize * element;
            read.clear();
            read.resize(len, 0);
            let mut worker = array.worker();
            let found = array.read_serial(&mut worker, &piece.slab, Elements::Stored, &mut read);
            array.release(worker);
            any |= found.map_err(failed)?;
            self.assembly.each_run(&piece, |from, to, count| {
                let (from, to, count) = (from * element, to * element, count * element);
                if let (Some(to), Some(from)) = (bytes.get_mut(to..to + count), read.get(from..from + count))
                {
                    to.copy_from_slice(from);
                }
            });
        }
        if any {
            location.extent = Extent::Inline(bytes.into());
        }
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        ""
    }
}

/// Chunks of strings of any length.
#[derive(Debug)]
pub(super) struct AssembledStrings {
    pub(super) assembly: Assembly,
    pub(super) fill: Vec<u8>,
    pub(super) arrays: Vec<StringArray>,
}

impl StringChunks for AssembledStrings {
    fn read(&self, chunk: &[u64]) -> Result<Option<Strings>, ChunkError> {
        let elements = ncz_model::product(self.assembly.chunk_shape.iter().copied());
        let len = elements.and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX);
        let mut slots: Vec<Option<(usize, usize)>> = Vec::new();
        slots.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        slots.resize(len, None);
        let mut pieces = Vec::new();
        for piece in self.assembly.pieces(chunk) {
            let Some(array) = self.arrays.get(piece.part) else { continue };
            let Some(strings) = array.read_serial(&piece.slab).map_err(failed)? else { continue };
            self.assembly.each_run(&piece, |from, to, count| {
                if let Some(slots) = slots.get_mut(to..to + count) {
                    slots.iter_mut().zip(from..).for_each(|(slot, at)| *slot = Some((pieces.len(), at)));
                }
            });
            pieces.push(strings);
        }
        if pieces.is_empty() {
            return Ok(None);
        }
        let string = |slot: Option<(usize, usize)>| {
            let (piece, at) = slot?;
            pieces.get(piece)?.get(at)
        };
        Ok(Some(slots.into_iter().map(|slot| string(slot).unwrap_or(&self.fill)).collect()))
    }
}

/// Keeps which dataset failed.
fn failed(error: DataError) -> ChunkError {
    ChunkError::Elements(Box::new(error))
}
