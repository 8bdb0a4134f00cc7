//! Strings whose chunks are not their bytes: addresses in global heaps, or elements that end before a NUL.

use std::sync::Arc;

use ncz_model::{Array, ChunkError, DataError, StringChunks, Strings};

use crate::hdf5::{Collections, File, Hdf5Error, Reference, before_nul};

/// The strings of a variable at addresses in global heaps.
#[derive(Debug)]
pub(super) struct HeapStrings {
    file: Arc<File>,
    addresses: Array,
}

impl HeapStrings {
    /// The strings at the `addresses` in the chunks of an array.
    pub(super) fn new(file: Arc<File>, addresses: Array) -> Self {
        Self { file, addresses }
    }

    /// Reads the strings at these addresses; in parts if their collections have too many bytes together.
    fn read_all(&self, references: &[Reference], strings: &mut Strings) -> Result<(), Hdf5Error> {
        let mut heaps = Collections::default();
        if !heaps.fetch_within(&self.file, references.iter().copied())? {
            // A part has fewer collections, a single string only one.
            let (first, second) = references.split_at(references.len() / 2);
            self.read_all(first, strings)?;
            return self.read_all(second, strings);
        }
        for reference in references {
            let bytes = heaps.get(&self.file, *reference)?;
            let bytes = match usize::try_from(reference.len).ok().and_then(|len| bytes.get(..len)) {
                Some(bytes) => bytes,
                None if reference.collection.is_none() => &[],
                None => {
                    let reason =
                        format!("a string of {} bytes is in an object of {}", reference.len, bytes.len());
                    let at = reference.collection.unwrap_or(0);
                    return Err(self.file.error(reason.into(), "a heap of strings", at));
                }
            };
            // netCDF's strings end at a NUL.
            strings.push(before_nul(bytes));
        }
        Ok(())
    }

    fn strings(&self, chunk: &[u8]) -> Result<Strings, Hdf5Error> {
        let references = Reference::decode_all(&self.file, chunk);
        let references = references.map_err(|error| self.file.error(error, "a chunk of strings", 0))?;
        let mut strings = Strings::new();
        self.read_all(&references, &mut strings)?;
        Ok(strings)
    }
}

impl StringChunks for HeapStrings {
    fn read(&self, index: &[u64]) -> Result<Option<Strings>, ChunkError> {
        let chunk = stored(&self.addresses, index).map_err(|error| *error)?;
        let strings = chunk.map(|chunk| self.strings(&chunk)).transpose();
        strings.map_err(|error| ChunkError::Index(Box::new(error)))
    }
}

/// The strings of a variable that end before a NUL in elements of a fixed length. A string may fill its element.
#[derive(Debug)]
pub(super) struct TerminatedStrings {
    elements: Array,
}

impl TerminatedStrings {
    /// The strings in the elements of an array.
    pub(super) fn new(elements: Array) -> Self {
        Self { elements }
    }
}

impl StringChunks for TerminatedStrings {
    fn read(&self, index: &[u64]) -> Result<Option<Strings>, ChunkError> {
        let Some(chunk) = stored(&self.elements, index).map_err(|error| *error)? else { return Ok(None) };
        let mut strings = Strings::new();
        for element in chunk.chunks_exact(self.elements.dtype().size().max(1)) {
            strings.push(before_nul(element));
        }
        Ok(Some(strings))
    }
}

/// The bytes of a chunk; `None` if it is not stored.
fn stored(array: &Array, index: &[u64]) -> Result<Option<Vec<u8>>, Box<ChunkError>> {
    let mut worker = array.worker();
    let len = array.chain().chunk_len();
    let mut chunk = Vec::new();
    chunk.try_reserve_exact(len).map_err(|_| Box::new(ChunkError::Memory { len }))?;
    chunk.resize(len, 0);
    let read = array.read_chunk(&mut worker, index, &mut chunk);
    array.release(worker);
    match read {
        Ok(found) => Ok(found.map(|_| chunk)),
        Err(DataError::Chunk { source, .. }) => Err(source),
        Err(other) => Err(Box::new(ChunkError::Index(Box::new(other)))),
    }
}
