//! Messages that several objects share: committed types, and the heaps of shared messages.

use std::sync::OnceLock;

use super::cursor::Cursor;
use super::decode::{self, Heap};
use super::error::Hdf5Error;
use super::file::File;
use super::header::{Header, Message, SHARED};

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
    fn heap(&self, file: &File) -> Result<&Heap, Hdf5Error> {
        match self.heap.get() {
            Some(heap) => Ok(heap),
            None => {
                let heap = Heap::read(file, self.address)?;
                Ok(self.heap.get_or_init(|| heap))
            }
        }
    }
}

/// The body of a message: that of the shared message if it points to one. The address is that of the object that holds
/// it, for a committed type its identity.
pub(crate) fn body(file: &File, message: &Message) -> Result<(Vec<u8>, Option<u64>), Hdf5Error> {
    if message.flags & SHARED == 0 {
        return Ok((message.body.clone(), None));
    }
    pointed(file, &message.body, message.kind)
}

/// Follows the pointer to a shared message (HDF5 file format, IV.A.2, "shared message").
pub(crate) fn pointed(file: &File, pointer: &[u8], kind: u16) -> Result<(Vec<u8>, Option<u64>), Hdf5Error> {
    const WHAT: &str = "the pointer to a shared message";
    let failed = |error| file.error(error, WHAT, 0);
    let mut cursor = file.cursor(pointer);
    let (in_heap, address, id) = pointer_of(&mut cursor).map_err(failed)?;
    if in_heap {
        let heaps = file.shared_heaps()?;
        let heap = heaps.iter().find(|heap| u32::from(heap.types) & (1_u32 << kind.min(31)) != 0);
        let heap = heap.ok_or_else(|| failed("the file has no heap of shared messages for it".into()))?;
        return Ok((heap.heap(file)?.object(file, &id)?, None));
    }
    let header = Header::read(file, address)?;
    let found = header.message(kind).filter(|message| message.flags & SHARED == 0);
    match found {
        Some(message) => Ok((message.body.clone(), Some(address))),
        None => Err(file.error("it does not have the shared message".into(), "the object header", address)),
    }
}

/// Whether the pointer is into a heap, the address of an object, and the heap ID.
fn pointer_of(cursor: &mut Cursor<'_>) -> super::cursor::Decoded<(bool, u64, Vec<u8>)> {
    let version = cursor.u8()?;
    let kind = cursor.u8()?;
    match (version, kind) {
        (1, _) => {
            cursor.skip(6)?;
            Ok((false, cursor.defined()?, Vec::new()))
        }
        (3, 1) => Ok((true, 0, cursor.take(8)?.to_vec())),
        (2 | 3, _) => Ok((false, cursor.defined()?, Vec::new())),
        _ => Err(format!("its version is {version}, known are 1 to 3").into()),
    }
}

/// Reads the table of the heaps of shared messages (HDF5 file format, III.G).
pub(super) fn read_table(file: &File, address: u64, count: u8) -> Result<Vec<SharedHeap>, Hdf5Error> {
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
