//! Arrays of user-defined types.

use std::fmt;
use std::sync::Arc;

use crate::array::{Array, Elements};
use crate::data_error::{ChunkError, DataError};
use crate::grid::Slab;
use crate::user_value::Row;

/// Decodes elements of a user-defined type as they are stored: their layout, their byte orders, and what is in heaps.
pub trait UserElements: fmt::Debug + Send + Sync {
    /// Decodes whole elements.
    ///
    /// # Errors
    /// A heap cannot be read, or the bytes are not such elements.
    fn decode(&self, stored: &[u8]) -> Result<Row, ChunkError>;
}

/// A variable of a user-defined type whose codecs are bound.
#[derive(Debug)]
pub struct UserArray {
    stored: Array,
    elements: Arc<dyn UserElements>,
}

impl UserArray {
    /// The values in the elements of an array.
    #[must_use]
    pub fn new(stored: Array, elements: Arc<dyn UserElements>) -> Self {
        Self { stored, elements }
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
        self.stored.read_bytes(slab, Elements::Stored, &mut bytes)?;
        self.elements.decode(&bytes).map_err(|source| DataError::Chunk {
            variable: self.stored.path().to_owned(),
            key: format!("{:?}", slab.start()),
            store: self.stored.store_text(),
            source: Box::new(source),
        })
    }
}
