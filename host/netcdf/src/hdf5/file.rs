//! An HDF5 file: its superblock, and the messages that its objects share.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::cursor::{Cursor, Decoded, Widths};
use super::decode;
use super::error::Hdf5Error;
use super::file_bytes::FileBytes;
use super::header::{self, Header, Message, SHARED};
use super::shared::{self, Pointer, SharedHeap};
use crate::source::Source;

const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The most user-block sizes that are tried: 512 bytes to 2 GiB.
const USER_BLOCKS: u32 = 22;

/// The entries of a node of the chunk B-tree, halved, if the file does not say.
const CHUNK_K: u16 = 32;

/// The bytes of a superblock that are enough to decode it.
const SUPERBLOCK: u64 = 256;

/// An open HDF5 file.
#[derive(Debug)]
pub(crate) struct File {
    bytes: FileBytes,
    /// 0 for the file that is opened; another number for each file that its external links lead to.
    pub(crate) id: usize,
    /// The version of the superblock.
    pub(crate) version: u8,
    /// The address of the root group's object header.
    pub(crate) root: u64,
    /// Half the most entries of a node of a B-tree of chunks.
    pub(crate) chunk_k: u16,
    /// Whether a program was writing the file when it was closed, or still is.
    pub(crate) is_open_for_writing: bool,
    shared_table: Option<(u64, u8)>,
    shared_heaps: OnceLock<Vec<SharedHeap>>,
}

/// What a superblock says.
struct Superblock {
    version: u8,
    widths: Widths,
    base: u64,
    end: u64,
    root: u64,
    extension: Option<u64>,
    chunk_k: u16,
    flags: u8,
}

/// Whether there is a superblock in the source, and where it begins.
pub(crate) fn find(source: &Source) -> Result<Option<u64>, Hdf5Error> {
    let places = (0..=USER_BLOCKS).map(|power| if power == 0 { 0 } else { 256_u64 << power });
    for offset in places {
        if offset.saturating_add(SIGNATURE.len() as u64) > source.len() {
            break;
        }
        if source.read(offset, SIGNATURE.len() as u64, "the signature")? == SIGNATURE {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

impl Deref for File {
    type Target = FileBytes;

    fn deref(&self) -> &FileBytes {
        &self.bytes
    }
}

impl File {
    /// Reads the superblock.
    ///
    /// # Errors
    /// There is none, it is damaged, or the file is cut short.
    pub(crate) fn open(source: Arc<Source>, id: usize) -> Result<Self, Hdf5Error> {
        let key = source.key().as_str();
        let offset = find(&source)?.ok_or_else(|| Hdf5Error::NoSuperblock { key: key.to_owned() })?;
        let bytes = source.read_up_to(offset, SUPERBLOCK, "the superblock")?;
        let block = superblock(&bytes).map_err(|error| error.at(key, "the superblock", offset))?;
        // A user block that was put before the file by another program moves everything.
        let moved = offset.wrapping_sub(block.base);
        let want = block.end.wrapping_add(moved);
        if want > source.len() {
            return Err(Hdf5Error::CutShort { key: key.to_owned(), len: source.len(), want });
        }
        let mut file = Self {
            bytes: FileBytes { source, widths: block.widths, base: offset },
            id,
            version: block.version,
            root: block.root,
            chunk_k: block.chunk_k,
            is_open_for_writing: block.flags & 0b101 != 0,
            shared_table: None,
            shared_heaps: OnceLock::new(),
        };
        if let Some(extension) = block.extension {
            file.read_extension(extension)?;
        }
        Ok(file)
    }

    fn read_extension(&mut self, address: u64) -> Result<(), Hdf5Error> {
        let extension = Header::read(self, address)?;
        if let Some(message) = extension.message(header::BTREE_K) {
            let mut cursor = self.cursor(&message.body);
            let decoded = cursor.skip(1).and_then(|()| cursor.u16());
            self.chunk_k = decoded.map_err(|error| self.error(error, "the B-tree sizes", address))?;
        }
        if let Some(message) = extension.message(header::SHARED_TABLE) {
            let mut cursor = self.cursor(&message.body);
            let decoded = cursor.skip(1).and_then(|()| Ok((cursor.defined()?, cursor.u8()?)));
            self.shared_table =
                Some(decoded.map_err(|error| self.error(error, "the table of shared messages", address))?);
        }
        Ok(())
    }

    /// The heaps of shared messages.
    pub(crate) fn shared_heaps(&self) -> Result<&[SharedHeap], Hdf5Error> {
        if let Some(heaps) = self.shared_heaps.get() {
            return Ok(heaps);
        }
        let heaps = match self.shared_table {
            Some((address, count)) => shared::read_table(self, address, count)?,
            None => Vec::new(),
        };
        Ok(self.shared_heaps.get_or_init(|| heaps))
    }

    /// The body of a message: that of the shared message if it points to one. The address is that of the object that holds
    /// it, for a committed type its identity.
    pub(crate) fn message_body(&self, message: &Message) -> Result<(Vec<u8>, Option<u64>), Hdf5Error> {
        if message.flags & SHARED == 0 {
            return Ok((message.body.clone(), None));
        }
        self.shared_message(&message.body, message.kind)
    }

    /// Follows the pointer to a shared message (HDF5 file format, IV.A.2, "shared message").
    pub(crate) fn shared_message(
        &self,
        pointer: &[u8],
        kind: u16,
    ) -> Result<(Vec<u8>, Option<u64>), Hdf5Error> {
        let failed = |error| self.error(error, "the pointer to a shared message", 0);
        match Pointer::decode(&mut self.cursor(pointer)).map_err(failed)? {
            Pointer::Heap(id) => {
                let heap = self.shared_heaps()?.iter().find(|heap| heap.holds(kind));
                let heap =
                    heap.ok_or_else(|| failed("the file has no heap of shared messages for it".into()))?;
                Ok((heap.object(self, &id)?, None))
            }
            Pointer::Object(address) => {
                let header = Header::read(self, address)?;
                let found = header.message(kind).filter(|message| message.flags & SHARED == 0);
                match found {
                    Some(message) => Ok((message.body.clone(), Some(address))),
                    None => Err(self.error(
                        "it does not have the shared message".into(),
                        "the object header",
                        address,
                    )),
                }
            }
        }
    }
}

/// Decodes a superblock of any version (HDF5 file format, II.A).
fn superblock(bytes: &[u8]) -> Decoded<Superblock> {
    let version = bytes.get(8).copied().unwrap_or(u8::MAX);
    match version {
        0 | 1 => old_superblock(bytes, version),
        2 | 3 => {
            let widths = widths(bytes.get(9).copied(), bytes.get(10).copied())?;
            let mut cursor = Cursor::new(bytes, widths);
            cursor.skip(11)?;
            let flags = cursor.u8()?;
            let base = cursor.address()?.unwrap_or(0);
            let extension = cursor.address()?;
            let end = cursor.defined()?;
            let root = cursor.defined()?;
            let checked = cursor.position();
            decode::check_sum(bytes.get(..checked + 4).unwrap_or_default())?;
            Ok(Superblock { version, widths, base, end, root, extension, chunk_k: CHUNK_K, flags })
        }
        other => Err(format!("its version is {other}, known are 0 to 3").into()),
    }
}

fn old_superblock(bytes: &[u8], version: u8) -> Decoded<Superblock> {
    let widths = widths(bytes.get(13).copied(), bytes.get(14).copied())?;
    let mut cursor = Cursor::new(bytes, widths);
    cursor.skip(16)?;
    // The sizes of nodes of groups are not needed: a node says how many entries it has.
    cursor.skip(4)?;
    cursor.skip(4)?;
    let mut chunk_k = CHUNK_K;
    if version == 1 {
        chunk_k = cursor.u16()?;
        cursor.skip(2)?;
    }
    let base = cursor.address()?.unwrap_or(0);
    cursor.address()?;
    let end = cursor.defined()?;
    cursor.address()?;
    // The symbol table entry of the root group: the offset of its name, then its object header.
    cursor.address()?;
    let root = cursor.defined()?;
    Ok(Superblock { version, widths, base, end, root, extension: None, chunk_k, flags: 0 })
}

fn widths(offset: Option<u8>, length: Option<u8>) -> Decoded<Widths> {
    match (offset, length) {
        (Some(offset @ (2 | 4 | 8)), Some(length @ (2 | 4 | 8))) => Ok(Widths { offset, length }),
        (offset, length) => Err(format!(
            "its addresses have {} and its lengths {} bytes, possible are 2, 4 and 8",
            offset.unwrap_or(0),
            length.unwrap_or(0)
        )
        .into()),
    }
}
