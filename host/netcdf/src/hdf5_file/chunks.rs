//! The chunk index of a variable.

use std::sync::Arc;

use ncz_model::{ChunkError, ChunkIndex, ChunkLocation, Extent};

use crate::classic::layout::Layout as Block;
use crate::hdf5::{Chunks, Dataset, Hdf5Error, Layout};

/// Where the chunks of a variable are.
#[derive(Debug)]
pub(super) struct FileChunks {
    key: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Nothing was written.
    Empty,
    /// One chunk, in the header.
    Compact(Arc<[u8]>),
    /// A block, split into chunks.
    Block(Block),
    Chunked(Chunks),
}

impl FileChunks {
    /// Reads the index of a variable.
    pub(super) fn read(dataset: &Dataset) -> Result<Self, Hdf5Error> {
        let file = &*dataset.file;
        let failed = || file.error("its lengths do not fit 64 bits".into(), "the layout", dataset.address);
        let kind = match &dataset.layout {
            Layout::Compact(stored) => {
                let elements =
                    dataset.dataspace.elements().and_then(|count| count.checked_mul(dataset.element));
                let len = elements.and_then(|len| usize::try_from(len).ok());
                Kind::Compact(len.and_then(|len| stored.get(..len)).ok_or_else(failed)?.into())
            }
            Layout::Contiguous(None) => Kind::Empty,
            Layout::Contiguous(Some(address)) => {
                let begin = file.offset(*address).ok_or_else(failed)?;
                Kind::Block(
                    Block::block(begin, dataset.dataspace.shape(), dataset.element).ok_or_else(failed)?,
                )
            }
            Layout::Chunked { .. } => Kind::Chunked(Chunks::read(&dataset.file, dataset)?),
        };
        Ok(Self { key: file.source.key().as_str().to_owned(), kind })
    }
}

impl ChunkIndex for FileChunks {
    fn locate(&self, chunk: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.key.clone_into(&mut location.key);
        location.filter_mask = 0;
        location.extent = match &self.kind {
            Kind::Empty => Extent::Missing,
            Kind::Compact(bytes) => Extent::Inline(Arc::clone(bytes)),
            Kind::Block(block) => block.range(chunk).map_or(Extent::Missing, Extent::Range),
            Kind::Chunked(chunks) => {
                match chunks.get(chunk).map_err(|error| ChunkError::Index(Box::new(error)))? {
                    None => Extent::Missing,
                    Some(entry) => {
                        location.filter_mask = entry.mask;
                        Extent::Range(entry.offset..entry.offset.saturating_add(entry.len))
                    }
                }
            }
        };
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        &self.key
    }

    fn stored(&self) -> Option<Vec<Vec<u64>>> {
        match &self.kind {
            Kind::Empty => Some(Vec::new()),
            Kind::Compact(_) | Kind::Block(_) => None,
            // An index that cannot be read is an error when a chunk is located.
            Kind::Chunked(chunks) => chunks.stored().unwrap_or(None),
        }
    }

    fn has_neighbours(&self) -> bool {
        true
    }
}
