//! The file that is written, and the allocation of space at its end.

use std::io::{self, Seek, SeekFrom, Write};

use super::encode;
use super::error::Hdf5WriteError;

/// The bytes at the start of the file that the superblock occupies.
pub const SUPERBLOCK_BYTES: u64 = 48;

/// The alignment of what is allocated.
const ALIGNMENT: u64 = 8;

/// The largest address of libhdf5.
const MOST_BYTES: u64 = i64::MAX as u64;

/// A file with the end of what is allocated in it.
#[derive(Debug)]
pub(super) struct Sink<W> {
    file: W,
    end: u64,
    /// Where the next byte goes without a seek; `None` if that is not known.
    position: Option<u64>,
}

impl<W: Write + Seek> Sink<W> {
    /// A file whose first `end` bytes are in use.
    pub(super) fn new(file: W, end: u64) -> Self {
        Self { file, end: end.max(SUPERBLOCK_BYTES), position: None }
    }

    /// Allocates space at the end. Space beyond the largest address fails when it is written.
    pub(super) fn allocate(&mut self, bytes: u64) -> u64 {
        let address = self.end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        self.end = address.saturating_add(bytes);
        address
    }

    /// Writes bytes at an address.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Hdf5WriteError> {
        let failed =
            |source: io::Error| Hdf5WriteError::Write { bytes: bytes.len(), offset: address, source };
        let end = address.checked_add(bytes.len() as u64).filter(|end| *end <= MOST_BYTES);
        let end = end.ok_or_else(|| failed(io::Error::other("an HDF5 file cannot be that long")))?;
        if self.position != Some(address) {
            self.position = None;
            self.file.seek(SeekFrom::Start(address)).map_err(failed)?;
        }
        self.file.write_all(bytes).map_err(failed)?;
        self.position = Some(end);
        Ok(())
    }

    /// Writes the superblock after all else.
    pub(super) fn finish(mut self, root: u64) -> Result<W, Hdf5WriteError> {
        let failed = |source: io::Error| Hdf5WriteError::Write { bytes: 0, offset: 0, source };
        self.file.flush().map_err(failed)?;
        let superblock = encode::superblock(self.end, root);
        self.write(0, &superblock)?;
        self.file.flush().map_err(failed)?;
        Ok(self.file)
    }
}
