//! Strings of any length: chunks hold addresses in global heaps.

use std::sync::Arc;

use ncz_model::{Array, ChunkError, DataError, StringChunks, Strings};

use crate::hdf5::{Collections, File, Hdf5Error, Reference, before_nul};

/// The strings of a variable.
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

    fn strings(&self, chunk: &[u8]) -> Result<Strings, Hdf5Error> {
        let references = Reference::decode_all(&self.file, chunk);
        let references = references.map_err(|error| self.file.error(error, "a chunk of strings", 0))?;
        let mut heaps = Collections::default();
        heaps.fetch(&self.file, references.iter().copied())?;
        let mut strings = Strings::new();
        for reference in references {
            let bytes = heaps.get(&self.file, reference)?;
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
        Ok(strings)
    }
}

impl StringChunks for HeapStrings {
    fn read(&self, index: &[u64]) -> Result<Option<Strings>, ChunkError> {
        let mut worker = self.addresses.worker();
        let len = self.addresses.chain().chunk_len();
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
        chunk.resize(len, 0);
        let read = self.addresses.read_chunk(&mut worker, index, &mut chunk);
        self.addresses.release(worker);
        match read {
            Ok(None) => Ok(None),
            Ok(Some(_)) => self.strings(&chunk).map(Some).map_err(|error| ChunkError::Index(Box::new(error))),
            Err(DataError::Chunk { source, .. }) => Err(*source),
            Err(other) => Err(ChunkError::Index(Box::new(other))),
        }
    }
}
