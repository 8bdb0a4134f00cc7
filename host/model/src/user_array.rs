//! Arrays of user-defined types.

use std::fmt;
use std::sync::Arc;

use crate::array::{Array, Elements, Written};
use crate::data_error::{ChunkError, DataError};
use crate::grid::Slab;
use crate::user_value::Row;

/// Translates elements of a user-defined type as they are stored: their layout, their byte orders, and what is in heaps.
pub trait UserElements: fmt::Debug + Send + Sync {
    /// Decodes whole elements.
    ///
    /// # Errors
    /// A heap cannot be read, or the bytes are not such elements.
    fn decode(&self, stored: &[u8]) -> Result<Row, ChunkError>;

    /// Encodes the elements of a row, and writes what is in heaps.
    ///
    /// # Errors
    /// The row has values of another type; a heap cannot be written; or the dataset is only read.
    fn encode(&self, row: &Row) -> Result<Vec<u8>, ChunkError>;

    /// One element that stands beyond the end of an array, if each of them is encoded by itself: two elements cannot share
    /// what is in a heap.
    fn padding(&self) -> Option<&Row> {
        None
    }
}

/// A variable of a user-defined type whose codecs are bound.
#[derive(Debug)]
pub struct UserArray {
    stored: Array,
    elements: Arc<dyn UserElements>,
    /// The lengths without padding.
    shape: Vec<u64>,
}

impl UserArray {
    /// The values in the elements of an array.
    #[must_use]
    pub fn new(stored: Array, elements: Arc<dyn UserElements>) -> Self {
        let shape = stored.shape().to_vec();
        Self { stored, elements, shape }
    }

    /// Uses only these first elements of the array; the others are padding, which fills its last chunks.
    #[must_use]
    pub fn padded(mut self, shape: Vec<u64>) -> Self {
        self.shape = shape;
        self
    }

    /// The stored elements.
    #[must_use]
    pub fn stored(&self) -> &Array {
        &self.stored
    }

    /// Reads a hyperslab in C order, with all threads.
    ///
    /// # Errors
    /// The slab does not fit the variable; a chunk cannot be read or decoded; or a heap cannot be read.
    pub fn read(&self, slab: &Slab) -> Result<Row, DataError> {
        self.try_read(slab).map(|(row, _)| row)
    }

    /// Reads like [`read`](Self::read), and returns whether any chunk of the slab exists; if none does, all is fill.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn try_read(&self, slab: &Slab) -> Result<(Row, bool), DataError> {
        let mut bytes = self.buffer(slab)?;
        let exists = self.stored.try_read_bytes(slab, Elements::Stored, &mut bytes)?;
        let row = self.elements.decode(&bytes).map_err(|source| self.failed(slab, source))?;
        Ok((row, exists))
    }

    /// Decodes whole elements as they are stored, such as a fill value.
    ///
    /// # Errors
    /// A heap cannot be read, or the bytes are not such elements.
    pub fn decode(&self, stored: &[u8]) -> Result<Row, DataError> {
        let slab = Slab::new(Vec::new(), Vec::new());
        self.elements.decode(stored).map_err(|source| self.failed(&slab, source))
    }

    /// Writes a row as a hyperslab in C order, with all threads, and returns what was stored.
    ///
    /// # Errors
    /// The slab does not fit the variable or the row; a value cannot be stored; or a chunk or a heap cannot be written.
    pub fn write(&self, slab: &Slab, row: &Row) -> Result<Written, DataError> {
        let encode = |row: &Row| self.elements.encode(row).map_err(|source| self.failed(slab, source));
        let bytes = encode(row)?;
        let with_padding = self.with_padding(slab);
        let Some(padding) = self.elements.padding().filter(|_| with_padding != *slab) else {
            return self.stored.write_bytes(slab, Elements::Stored, &bytes);
        };
        let mut all = self.buffer(&with_padding)?;
        let missing = with_padding.elements().zip(slab.elements()).map_or(0, |(all, own)| all - own);
        let padding = encode(&padding.repeated(usize::try_from(missing).unwrap_or(usize::MAX)))?;
        let mut padding = padding.chunks_exact(self.stored.dtype().size().max(1));
        let mut own = bytes.chunks_exact(self.stored.dtype().size().max(1));
        let mut index = vec![0; slab.count().len()];
        for element in all.chunks_exact_mut(self.stored.dtype().size().max(1)) {
            let is_own = index.iter().zip(slab.count()).all(|(at, count)| at < count);
            if let Some(bytes) = if is_own { own.next() } else { padding.next() } {
                element.copy_from_slice(bytes);
            }
            for (at, count) in index.iter_mut().zip(with_padding.count()).rev() {
                *at += 1;
                if *at < *count {
                    break;
                }
                *at = 0;
            }
        }
        self.stored.write_bytes(&with_padding, Elements::Stored, &all)
    }

    /// A slab with the padding of the last chunks that it reaches.
    fn with_padding(&self, slab: &Slab) -> Slab {
        let axes = slab.start().iter().zip(slab.count()).zip(self.shape.iter().zip(self.stored.shape()));
        let counts = axes.map(|((start, count), (len, padded))| match start.checked_add(*count) {
            Some(end) if end == *len => padded.saturating_sub(*start),
            _ => *count,
        });
        Slab::new(slab.start(), counts.collect::<Vec<u64>>())
    }

    /// A buffer for the elements of a slab.
    fn buffer(&self, slab: &Slab) -> Result<Vec<u8>, DataError> {
        let size = self.stored.dtype().size() as u64;
        let len = slab.count().iter().try_fold(size, |product, count| product.checked_mul(*count));
        let memory = || DataError::Unsupported {
            variable: self.stored.path().to_owned(),
            reason: "the hyperslab does not fit in memory; read less at once".to_owned(),
        };
        let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(memory)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| memory())?;
        bytes.resize(len, 0);
        Ok(bytes)
    }

    fn failed(&self, slab: &Slab, source: ChunkError) -> DataError {
        DataError::Chunk {
            variable: self.stored.path().to_owned(),
            key: format!("{:?}", slab.start()),
            store: self.stored.store_text(),
            source: Box::new(source),
        }
    }
}
