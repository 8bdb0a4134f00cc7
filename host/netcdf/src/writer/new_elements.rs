//! Stores elements of user-defined types in new files.

use std::sync::Arc;

use ncz_model::{ChunkError, Row, UserElements};

use super::chunk_store::ChunkStore;
use crate::hdf5_write::store_row;
use crate::user_layout::UserLayout;

/// Elements of a new file.
#[derive(Debug)]
pub(super) struct NewElements {
    chunks: Arc<ChunkStore>,
    layout: UserLayout,
    padding: Option<Row>,
}

impl NewElements {
    pub(super) fn new(chunks: Arc<ChunkStore>, layout: UserLayout, padding: Option<Row>) -> Self {
        Self { chunks, layout, padding }
    }
}

impl UserElements for NewElements {
    fn decode(&self, _: &[u8]) -> Result<Row, ChunkError> {
        Err(ChunkError::Index("the file is not complete; complete it before it is read".into()))
    }

    fn encode(&self, row: &Row) -> Result<Vec<u8>, ChunkError> {
        store_row(self.chunks.file(), &self.layout, row).map_err(ChunkError::Index)
    }

    fn padding(&self) -> Option<&Row> {
        self.padding.as_ref()
    }
}
