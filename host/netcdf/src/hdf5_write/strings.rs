//! The strings of a chunk as HDF5 stores them.

use ncz_model::Strings;

use super::datatype::HEAP_REFERENCE_BYTES;
use super::error::Hdf5WriteError;
use super::global_heap::{Collection, reference};

/// The strings of one chunk in collections of a global heap.
///
/// A chunk of strings consists of references to its strings, of 16 bytes each. So it is written in two steps: append
/// [`collections`](Self::collections) to the file, then store [`references`](Self::references) to them as the content
/// of the chunk. Filters of the variable, if there are any, apply to the references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringChunk {
    collections: Vec<u8>,
    /// The length of each string, the offset of its collection in `collections`, and its number there.
    strings: Vec<(u32, u64, u16)>,
}

impl StringChunk {
    /// Packs the strings of a chunk, in the order of its elements.
    ///
    /// # Errors
    /// [`Hdf5WriteError::Text`] if a string contains a NUL, at which HDF5 and netCDF would end it, or has 4 GiB or
    /// more.
    pub fn pack(strings: &Strings) -> Result<Self, Hdf5WriteError> {
        let mut packed = Self { collections: Vec::new(), strings: Vec::with_capacity(strings.len()) };
        let mut collection = Collection::new();
        for (number, string) in strings.iter().enumerate() {
            let len = text_len(string).map_err(|reason| Hdf5WriteError::Text { number, reason })?;
            if !collection.has_room(string.len()) {
                let full = std::mem::replace(&mut collection, Collection::new());
                packed.collections.extend_from_slice(&full.finish());
            }
            packed.strings.push((len, packed.collections.len() as u64, collection.push(string)));
        }
        if !strings.is_empty() {
            packed.collections.extend_from_slice(&collection.finish());
        }
        Ok(packed)
    }

    /// The collections, to be stored anywhere in the file.
    #[must_use]
    pub fn collections(&self) -> &[u8] {
        &self.collections
    }

    /// The content of the chunk, if the collections are stored from the byte `address` of the file.
    #[must_use]
    pub fn references(&self, address: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.strings.len().saturating_mul(HEAP_REFERENCE_BYTES));
        for (len, collection, object) in &self.strings {
            bytes.extend_from_slice(&reference(*len, address.saturating_add(*collection), *object));
        }
        bytes
    }
}

/// The length of a text in the reference to it; the error says why it cannot be stored.
pub(crate) fn text_len(text: &[u8]) -> Result<u32, String> {
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(format!("it has a NUL at byte {at}, where its readers end it"));
    }
    u32::try_from(text.len()).map_err(|_| format!("its {} bytes are more than 4294967295", text.len()))
}
