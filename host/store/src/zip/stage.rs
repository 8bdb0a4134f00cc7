//! A file beside the archive that is to be: objects are appended to it as they are written.

use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::archive::{Entry, EntryEncoding};
use super::format::{DosTime, NewEntry};
use crate::parent_dir::ParentDir;
use crate::sys;
use crate::temp_names::TempNames;

/// Below this size header and bytes go to the disk in one piece.
const SMALL: usize = 64 * 1024;

/// A hidden file; removed unless it became the archive.
pub(super) struct Stage {
    pub(super) file: Arc<File>,
    pub(super) name: OsString,
    /// The time that its entries have, in both of their headers.
    pub(super) stamp: DosTime,
    parent: Arc<ParentDir>,
    /// Where the next entry goes. What lies before it and belongs to none is dead.
    end: AtomicU64,
    named: AtomicBool,
}

impl Stage {
    pub(super) fn create(parent: &Arc<ParentDir>, names: &TempNames, mode: u32) -> Result<Self, Errno> {
        loop {
            let name = names.stage(&parent.name);
            match sys::create_file(&parent.dir, &*name, mode) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
                // another program that cleans up was faster
                Ok(file) if !parent.claim(&name, &file) => {}
                Ok(file) => {
                    return Ok(Self {
                        file: Arc::new(File::from(file)),
                        name,
                        stamp: DosTime::now(),
                        parent: Arc::clone(parent),
                        end: AtomicU64::new(0),
                        named: AtomicBool::new(false),
                    });
                }
            }
        }
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

    /// Takes the next bytes of the file; gives where they begin.
    pub(super) fn reserve(&self, len: u64) -> u64 {
        self.end.fetch_add(len, Ordering::Relaxed)
    }

    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Its hidden name is no longer its own: nothing is to be removed.
    pub(super) fn has_become_the_archive(&self) {
        self.named.store(true, Ordering::Relaxed);
        let _ = flock(&self.file, FlockOperation::NonBlockingUnlock);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.named.load(Ordering::Relaxed) {
            // nothing is left to report a failure to; a later writer tries again
            let _ = sys::remove_file(&self.parent.dir, &*self.name);
        }
    }
}
