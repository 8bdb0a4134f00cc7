//! Collections of global heaps ("HDF5 File Format Specification", III.E), which hold strings and lists.

use super::datatype::HEAP_REFERENCE_BYTES;

/// The bytes of a collection's header, and of an object's header.
const HEADER: usize = 16;

/// The smallest collection that libhdf5 reads.
const SMALLEST: usize = 4096;

/// The size at which a new collection begins (`H5HG_MAXSIZE` in libhdf5). One object can be larger.
const LARGEST: usize = 65_536;

/// A collection that objects are added to.
#[derive(Debug)]
pub(super) struct Collection {
    bytes: Vec<u8>,
    count: u16,
    /// The object without bytes, which empty strings share.
    empty: Option<u16>,
}

impl Default for Collection {
    fn default() -> Self {
        let mut bytes = b"GCOL\x01\0\0\0".to_vec();
        bytes.resize(HEADER, 0);
        Self { bytes, count: 0, empty: None }
    }
}

impl Collection {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Whether an object of `len` bytes belongs into this collection.
    pub(super) fn has_room(&self, len: usize) -> bool {
        if self.count == 0 || (len == 0 && self.empty.is_some()) {
            return true;
        }
        // The header of an object, and that of the free space at the end.
        let end = self.bytes.len().saturating_add(len).saturating_add(2 * HEADER + 8);
        self.count < u16::MAX && end <= LARGEST
    }

    /// Adds an object, and returns its number.
    pub(super) fn push(&mut self, object: &[u8]) -> u16 {
        if object.is_empty()
            && let Some(number) = self.empty
        {
            return number;
        }
        self.count = self.count.saturating_add(1);
        if object.is_empty() {
            self.empty = Some(self.count);
        }
        self.bytes.extend_from_slice(&self.count.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 6]);
        self.bytes.extend_from_slice(&(object.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(object);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.count
    }

    /// The bytes of the collection in the file.
    pub(super) fn len(&self) -> usize {
        (self.bytes.len() + HEADER).max(SMALLEST)
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let len = self.len();
        let free = len - self.bytes.len();
        // The free space is object 0; its size includes its header.
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.extend_from_slice(&(free as u64).to_le_bytes());
        self.bytes.resize(len, 0);
        if let Some(size) = self.bytes.get_mut(8..HEADER) {
            size.copy_from_slice(&(len as u64).to_le_bytes());
        }
        self.bytes
    }
}

/// An element that refers to an object in a heap: its length in elements, its collection, and its number there.
pub(crate) fn reference(len: u32, collection: u64, object: u16) -> [u8; HEAP_REFERENCE_BYTES] {
    let mut bytes = [0; HEAP_REFERENCE_BYTES];
    let (head, tail) = bytes.split_at_mut(4);
    head.copy_from_slice(&len.to_le_bytes());
    let (address, number) = tail.split_at_mut(8);
    address.copy_from_slice(&collection.to_le_bytes());
    number.copy_from_slice(&u32::from(object).to_le_bytes());
    bytes
}
