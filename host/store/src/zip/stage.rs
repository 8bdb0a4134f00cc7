//! A file beside the archive that is to be: objects are appended to it as they are written.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rustix::io::Errno;

use super::archive::{Entry, EntryEncoding};
use super::format::{DosTime, NewEntry};
use crate::hidden_file::HiddenFile;
use crate::parent_dir::ParentDir;
use crate::sys;
use crate::temp_names::TempNames;

/// Below this size header and bytes go to the disk in one piece.
const SMALL: usize = 64 * 1024;

/// A hidden file to which entries are appended. What no entry refers to is dead.
pub(super) struct Stage {
    hidden: HiddenFile,
    /// The time that its entries have, in both of their headers.
    pub(super) stamp: DosTime,
}

impl Deref for Stage {
    type Target = HiddenFile;

    fn deref(&self) -> &HiddenFile {
        &self.hidden
    }
}

impl Stage {
    pub(super) fn create(parent: &Arc<ParentDir>, names: &TempNames, mode: u32) -> Result<Self, Errno> {
        Ok(Self { hidden: HiddenFile::create(parent, names, mode)?, stamp: DosTime::now() })
    }

    /// Appends an object as a stored entry. Several threads may do so at once.
    pub(super) fn append(&self, name: &str, bytes: &[u8]) -> Result<Entry, Errno> {
        let crc = crc32fast::hash(bytes);
        let len = bytes.len() as u64;
        let mut header = NewEntry { name, len, crc, stamp: self.stamp }.local_header();
        let header_len = header.len() as u64;
        let header_start = self.reserve(header_len + len);
        let data_start = header_start + header_len;
        if bytes.len() <= SMALL {
            header.extend_from_slice(bytes);
            sys::write_all_at(&self.file, &header, header_start)?;
        } else {
            sys::write_all_at(&self.file, &header, header_start)?;
            sys::write_all_at(&self.file, bytes, data_start)?;
        }
        Ok(Entry {
            header_start,
            data_start: AtomicU64::new(data_start),
            stored_len: len,
            len,
            crc,
            encoding: EntryEncoding::Stored,
        })
    }
}
