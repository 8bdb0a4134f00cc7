//! The strings of chunks as HDF5 stores them.

use ncz_model::Strings;

use super::datatype::HEAP_REFERENCE_BYTES;
use super::error::Hdf5WriteError;
use super::global_heap::{Collection, reference};

/// The most bytes of references that wait for the address of a collection (4 MiB).
const MOST_WAITING: usize = 4 << 20;

/// Packs the strings of chunks into collections of a global heap. Chunks share collections, as each has 4 KiB or more.
///
/// The content of a chunk of strings are references to them, of 16 bytes each. Filters of the variable, if there are any,
/// apply to the references.
#[derive(Debug, Default)]
pub struct StringHeap {
    collection: Collection,
    /// The chunks that refer to the open collection.
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
}

/// A chunk whose references from the byte `from` on lack the address of their collection.
#[derive(Debug)]
struct Waiting {
    offset: u64,
    references: Vec<u8>,
    from: usize,
}

/// Bytes to write at an offset of the file: a collection, or the references of a chunk.
pub type HeapPart = (u64, Vec<u8>);

impl StringHeap {
    /// Adds the strings of a chunk, in the order of its elements. Its references belong to the byte `offset` of the file;
    /// `reserve` allocates bytes of the file. Returns what can be written now.
    ///
    /// # Errors
    /// [`Hdf5WriteError::Text`] if a string contains a NUL, at which HDF5 and netCDF would end it, or has 4 GiB or
    /// more. The heap is of no use then.
    pub fn add(
        &mut self,
        strings: &Strings,
        offset: u64,
        reserve: &dyn Fn(u64) -> u64,
    ) -> Result<Vec<HeapPart>, Hdf5WriteError> {
        let mut parts = Vec::new();
        let mut references = Vec::with_capacity(strings.len().saturating_mul(HEAP_REFERENCE_BYTES));
        let mut from = 0;
        for (number, string) in strings.iter().enumerate() {
            let len = text_len(string).map_err(|reason| Hdf5WriteError::Text { number, reason })?;
            if !self.collection.has_room(string.len()) {
                let address = self.close(reserve, &mut parts);
                set_address(&mut references, from, address);
                from = references.len();
            }
            references.extend_from_slice(&reference(len, 0, self.collection.push(string)));
        }
        self.waiting_bytes += references.len();
        self.waiting.push(Waiting { offset, references, from });
        if self.waiting_bytes > MOST_WAITING {
            self.close(reserve, &mut parts);
        }
        Ok(parts)
    }

    /// Returns what is left to write.
    #[must_use]
    pub fn finish(mut self, reserve: &dyn Fn(u64) -> u64) -> Vec<HeapPart> {
        let mut parts = Vec::new();
        if !self.waiting.is_empty() {
            self.close(reserve, &mut parts);
        }
        parts
    }

    /// Ends the open collection, and completes the chunks that refer to it. Returns its address.
    fn close(&mut self, reserve: &dyn Fn(u64) -> u64, parts: &mut Vec<HeapPart>) -> u64 {
        let collection = std::mem::take(&mut self.collection).finish();
        let address = reserve(collection.len() as u64);
        parts.push((address, collection));
        self.waiting_bytes = 0;
        for Waiting { offset, mut references, from } in self.waiting.drain(..) {
            set_address(&mut references, from, address);
            parts.push((offset, references));
        }
        address
    }
}

/// Sets the address of the collection in the references from the byte `from` on.
fn set_address(references: &mut [u8], from: usize, address: u64) {
    let references = references.get_mut(from..).unwrap_or_default();
    for reference in references.chunks_exact_mut(HEAP_REFERENCE_BYTES) {
        if let Some(field) = reference.get_mut(4..12) {
            field.copy_from_slice(&address.to_le_bytes());
        }
    }
}

/// The length of a text in the reference to it; the error says why it cannot be stored.
pub(crate) fn text_len(text: &[u8]) -> Result<u32, String> {
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(format!("it has a NUL at byte {at}, where its readers end it"));
    }
    u32::try_from(text.len()).map_err(|_| format!("its {} bytes are more than 4294967295", text.len()))
}
