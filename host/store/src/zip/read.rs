//! Reading the bytes of entries: stored ones in place, deflated ones through a small buffer.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::Ordering;

use crc32fast::Hasher;
use flate2::read::DeflateDecoder;

use super::archive::{Entry, EntryEncoding};
use super::format::{LOCAL_HEADER, LOCAL_MAGIC, u16_at};
use crate::error::{ObjectLocation, StoreError};
use crate::store::{ReadInto, ReadRange, make_room};
use crate::sys;

/// What is inflated and thrown away on the way to a range comes in pieces of this size.
const SKIP: usize = 16 * 1024;

/// An entry in its file, and what to call it.
pub(super) struct Reader<'a, A> {
    pub(super) file: &'a File,
    /// Where the bytes of entries end.
    pub(super) limit: u64,
    pub(super) entry: &'a Entry,
    pub(super) at: A,
}

impl<A: Fn() -> ObjectLocation> Reader<'_, A> {
    /// Fills `out` with a range of the object. A whole object is checked against its checksum.
    pub(super) fn read(&self, range: ReadRange, max_len: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.check_readable()?;
        let range = range.checked(self.entry.len, max_len, &self.at)?;
        let len = range.end - range.start;
        let want = usize::try_from(len).map_err(|_| StoreError::OutOfMemory { at: (self.at)(), len })?;
        if out.capacity() < want {
            out.clear();
            make_room(out, want, &self.at)?;
        }
        // what the buffer holds from before need not be cleared, it is overwritten
        out.resize(want, 0);
        self.fill(range, out)
    }

    /// Fills `out` with the bytes from `offset` on, as far as both go.
    pub(super) fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<ReadInto, StoreError> {
        self.check_readable()?;
        let object_len = self.entry.len;
        let start = offset.min(object_len);
        let rest = usize::try_from(object_len - start).unwrap_or(usize::MAX);
        let filled = rest.min(out.len());
        if let Some(out) = out.get_mut(..filled) {
            self.fill(start..start + filled as u64, out)?;
        }
        Ok(ReadInto { filled, object_len })
    }

    pub(super) fn check_readable(&self) -> Result<(), StoreError> {
        match self.entry.encoding {
            EntryEncoding::Unreadable(reason) => Err(self.bad(reason)),
            EntryEncoding::Stored | EntryEncoding::Deflated => Ok(()),
        }
    }

    fn fill(&self, range: Range<u64>, out: &mut [u8]) -> Result<(), StoreError> {
        let start = self.data_start()?;
        if self.entry.encoding == EntryEncoding::Deflated {
            return self.inflate(start, range, out);
        }
        let filled =
            sys::read_at(self.file, out, start + range.start).map_err(|error| self.io(error.into()))?;
        if filled < out.len() {
            return Err(StoreError::Changed { at: (self.at)() });
        }
        if range == (0..self.entry.len) {
            self.check(crc32fast::hash(out))?;
        }
        Ok(())
    }

    fn inflate(&self, start: u64, range: Range<u64>, out: &mut [u8]) -> Result<(), StoreError> {
        let section = Section { file: self.file, position: start, left: self.entry.stored_len };
        let mut decoder = DeflateDecoder::new(section);
        let mut crc = Hasher::new();
        let mut skipped = 0;
        let mut scratch = [0; SKIP];
        while skipped < range.start {
            let most = usize::try_from(range.start - skipped).unwrap_or(SKIP).min(SKIP);
            let part = scratch.get_mut(..most).unwrap_or_default();
            skipped += self.inflate_part(&mut decoder, &mut crc, part)? as u64;
        }
        let mut filled = 0;
        while let Some(part) = out.get_mut(filled..).filter(|part| !part.is_empty()) {
            filled += self.inflate_part(&mut decoder, &mut crc, part)?;
        }
        if range.end == self.entry.len {
            let beyond = decoder.read(&mut [0]).map_err(|error| self.inflate_error(error))?;
            if beyond > 0 || decoder.total_in() != self.entry.stored_len {
                return Err(self.bad("is longer than the directory of the archive says"));
            }
            self.check(crc.finalize())?;
        }
        Ok(())
    }

    /// Inflates at least one byte.
    fn inflate_part(
        &self,
        decoder: &mut DeflateDecoder<Section<'_>>,
        crc: &mut Hasher,
        out: &mut [u8],
    ) -> Result<usize, StoreError> {
        let n = decoder.read(out).map_err(|error| self.inflate_error(error))?;
        if n == 0 {
            return Err(self.bad("is shorter than the directory of the archive says"));
        }
        crc.update(out.get(..n).unwrap_or_default());
        Ok(n)
    }

    fn inflate_error(&self, error: io::Error) -> StoreError {
        if error.raw_os_error().is_some() {
            return self.io(error);
        }
        self.bad("cannot be inflated: its compressed bytes are damaged")
    }

    /// Where the bytes begin, which only the local header tells.
    fn data_start(&self) -> Result<u64, StoreError> {
        let known = self.entry.data_start.load(Ordering::Relaxed);
        if known != 0 {
            return Ok(known);
        }
        let mut header = [0; LOCAL_HEADER];
        let filled = sys::read_at(self.file, &mut header, self.entry.header_start)
            .map_err(|error| self.io(error.into()))?;
        if filled < LOCAL_HEADER || header.first_chunk() != Some(&LOCAL_MAGIC) {
            return Err(self.bad("has no header where the directory of the archive says"));
        }
        let number = |at| u64::from(u16_at(&header, at).unwrap_or(0));
        let deflated = number(8) == 8;
        if deflated != (self.entry.encoding == EntryEncoding::Deflated)
            || !matches!(number(8), 0 | 8)
            || number(6) & 1 != 0
        {
            return Err(self.bad("has another method in its header than in the directory of the archive"));
        }
        // none of these can overflow: the beginning of the directory is after the header
        let start = self.entry.header_start + LOCAL_HEADER as u64 + number(26) + number(28);
        if start.checked_add(self.entry.stored_len).is_none_or(|end| end > self.limit) {
            return Err(self.bad("reaches beyond the end of the archive's entries"));
        }
        self.entry.data_start.store(start, Ordering::Relaxed);
        Ok(start)
    }

    fn check(&self, found: u32) -> Result<(), StoreError> {
        let expected = self.entry.crc;
        if expected == found {
            return Ok(());
        }
        Err(StoreError::Checksum { at: (self.at)(), expected, found })
    }

    fn bad(&self, reason: &'static str) -> StoreError {
        StoreError::BadEntry { at: (self.at)(), reason }
    }

    fn io(&self, error: io::Error) -> StoreError {
        StoreError::from_io("read", (self.at)(), error)
    }
}

/// A part of a file.
struct Section<'a> {
    file: &'a File,
    position: u64,
    left: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = sys::read_at(self.file, out.get_mut(..most).unwrap_or_default(), self.position)?;
        self.position += n as u64;
        self.left -= n as u64;
        Ok(n)
    }
}
