//! A file as the crate `zip` wants to see it: with a position, which is ours and not the file's.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::sys;

const SIZE: usize = 64 * 1024;

/// The most that is read of a file to find and read its directory.
const MOST: u64 = 1 << 30;

/// Reads through one buffer, which stays where it is when the next position is inside it.
#[derive(Debug)]
pub(super) struct BufferedFile<'a> {
    file: &'a File,
    len: u64,
    position: u64,
    buffer: Vec<u8>,
    start: u64,
    /// How much more may be read.
    left: u64,
}

impl<'a> BufferedFile<'a> {
    pub(super) fn new(file: &'a File, len: u64) -> Self {
        Self { file, len, position: 0, buffer: Vec::new(), start: 0, left: MOST }
    }

    /// The bytes from the position on that are in the buffer.
    fn ahead(&self) -> &[u8] {
        let skip = self.position.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.buffer.get(skip..)).unwrap_or_default()
    }
}

impl Read for BufferedFile<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ahead().is_empty() {
            let rest = self.len.saturating_sub(self.position);
            self.buffer.resize(SIZE.min(usize::try_from(rest).unwrap_or(SIZE)), 0);
            let filled = sys::read_at(self.file, &mut self.buffer, self.position)?;
            self.buffer.truncate(filled);
            self.left = self.left.checked_sub(filled as u64).ok_or(io::ErrorKind::FileTooLarge)?;
            self.start = self.position;
        }
        let ahead = self.ahead();
        let n = ahead.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..n), ahead.get(..n)) {
            to.copy_from_slice(from);
        }
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for BufferedFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
