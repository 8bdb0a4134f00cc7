//! Arrays of user-defined types.

use std::fmt;
use std::sync::Arc;

use crate::array::{Array, Elements, Written};
use crate::data_error::{ChunkError, DataError};
use crate::grid::Slab;
use crate::user_value::{Row, same_rows};

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

/// Receives values and their slab.
pub type Take<'t, E> = &'t mut dyn FnMut(Row, &Slab) -> Result<(), E>;

/// Why two arrays could not be compared.
#[derive(Debug)]
pub enum SideError {
    /// The one cannot be read.
    One(Box<DataError>),
    /// The other cannot be read.
    Other(Box<DataError>),
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

    /// Reads like [`read`](Self::read), in as many parts as memory needs, and calls `take` with the values and the slab of
    /// each. Returns whether any chunk of the slab exists; if none does, `take` is not called.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and those that `take` returns.
    pub fn read_parts<E: From<DataError>>(&self, slab: &Slab, take: Take<'_, E>) -> Result<bool, E> {
        let mut bytes = self.buffer(slab)?;
        let exists = self.stored.try_read_bytes(slab, Elements::Stored, &mut bytes)?;
        if exists {
            self.decode_parts(slab, &bytes, take)?;
        }
        Ok(exists)
    }

    /// Decodes the elements of a slab as they are stored, in as many parts as memory needs, and calls `take` with the
    /// values and the slab of each.
    ///
    /// # Errors
    /// A heap cannot be read, or the bytes are not such elements; and those that `take` returns.
    pub fn decode_parts<E: From<DataError>>(
        &self,
        slab: &Slab,
        stored: &[u8],
        take: Take<'_, E>,
    ) -> Result<(), E> {
        let error = match self.elements.decode(stored) {
            Ok(row) => return take(row, slab),
            Err(error) => error,
        };
        let is_long = matches!(error, ChunkError::LongRows { .. });
        let halves = slab.halves().filter(|_| is_long).and_then(|(first, second)| {
            let len = usize::try_from(first.elements()?).ok()?.checked_mul(self.stored.dtype().size())?;
            Some((first, second, stored.split_at_checked(len)?))
        });
        let Some((first, second, (before, after))) = halves else {
            return Err(self.failed(slab, error).into());
        };
        self.decode_parts(&first, before, take)?;
        self.decode_parts(&second, after, take)
    }

    /// Whether the elements of a slab have the same values as those of a slab of another array; the error is that of this
    /// array, or of the other one. Returns the part that differs.
    ///
    /// # Errors
    /// As for [`read`](Self::read), of the array that cannot be read.
    pub fn differing(&self, slab: &Slab, (other, theirs): (&Self, &Slab)) -> Result<Option<Slab>, SideError> {
        let (one, two) = (self.read(slab), other.read(theirs));
        let is_long =
            |read: &Result<Row, DataError>| read.as_ref().is_err_and(|error| error.is_of_long_rows());
        if (is_long(&one) || is_long(&two))
            && let (Some((first, second)), Some((their_first, their_second))) =
                (slab.halves(), theirs.halves())
        {
            drop((one, two));
            return match self.differing(&first, (other, &their_first))? {
                None => self.differing(&second, (other, &their_second)),
                found => Ok(found),
            };
        }
        let one = one.map_err(|error| SideError::One(Box::new(error)))?;
        let two = two.map_err(|error| SideError::Other(Box::new(error)))?;
        Ok((!same_rows(&one, &two)).then(|| theirs.clone()))
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
