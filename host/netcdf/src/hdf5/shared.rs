//! Messages that several objects share: pointers to them, and their heaps.

use std::sync::OnceLock;

use super::cursor::{Cursor, Decoded};
use super::decode::{self, Heap};
use super::error::Hdf5Error;
use super::file_bytes::FileBytes;

/// The heap of the shared messages of some types.
#[derive(Debug)]
pub(crate) struct SharedHeap {
    /// Bit `n`: it holds messages of type `n`.
    types: u16,
    address: u64,
    /// Read when the first message in it is needed.
    heap: OnceLock<Heap>,
}

impl SharedHeap {
    /// Whether it holds messages of this type.
    pub(super) fn holds(&self, kind: u16) -> bool {
        u32::from(self.types) & (1_u32 << kind.min(31)) != 0
    }

    /// The message with this heap ID.
    pub(super) fn object(&self, file: &FileBytes, id: &[u8]) -> Result<Vec<u8>, Hdf5Error> {
        let heap = match self.heap.get() {
            Some(heap) => heap,
            None => {
                let heap = Heap::read(file, self.address)?;
                self.heap.get_or_init(|| heap)
            }
        };
        heap.object(file, id)
    }
}

/// Where a shared message is.
pub(super) enum Pointer {
    /// In the object header at this address.
    Object(u64),
    /// In the heap of shared messages, under this ID.
    Heap(Vec<u8>),
}

impl Pointer {
    /// Decodes the body of a message that points to a shared one.
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Decoded<Self> {
        let version = cursor.u8()?;
        let kind = cursor.u8()?;
        match (version, kind) {
            (1, _) => {
                cursor.skip(6)?;
                Ok(Self::Object(cursor.defined()?))
            }
            (3, 1) => Ok(Self::Heap(cursor.take(8)?.to_vec())),
            (2 | 3, _) => Ok(Self::Object(cursor.defined()?)),
            _ => Err(format!("its version is {version}, known are 1 to 3").into()),
        }
    }
}

/// Reads the table of the heaps of shared messages (HDF5 file format, III.G).
pub(super) fn read_table(file: &FileBytes, address: u64, count: u8) -> Result<Vec<SharedHeap>, Hdf5Error> {
    const WHAT: &str = "the table of shared messages";
    let entry = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * u64::from(file.widths.offset);
    let bytes = file.read(address, 4 + u64::from(count) * entry + 4, WHAT)?;
    let decoded = (|| {
        decode::check_sum(&bytes)?;
        let mut cursor = file.cursor(&bytes);
        if cursor.take(4)? != b"SMTB" {
            return Err("it has no signature".into());
        }
        let mut heaps = Vec::new();
        for _ in 0..count {
            cursor.skip(2)?;
            let types = cursor.u16()?;
            cursor.skip(10)?;
            cursor.address()?;
            if let Some(address) = cursor.address()? {
                heaps.push(SharedHeap { types, address, heap: OnceLock::new() });
            }
        }
        Ok(heaps)
    })();
    decoded.map_err(|error| file.error(error, WHAT, address))
}
