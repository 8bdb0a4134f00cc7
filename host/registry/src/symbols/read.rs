//! Bounded reading of files that are not trusted.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::read::{ReadCache, ReadCacheOps, ReadRef};

/// The largest number of bytes of one read; the tables of the largest plugins take under 2 MiB.
const MOST: u64 = 16 << 20;

/// The number of bytes read from the file at once. Tables are touched here and there in small pieces.
const BLOCK: u64 = 4096;

/// A file whose small reads are answered from blocks that were read before.
pub(super) struct Blocks {
    file: File,
    len: u64,
    position: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

/// The bytes of a file, with a limit on each read.
#[derive(Clone, Copy)]
pub(super) struct Bounded<'a>(pub(super) &'a ReadCache<Blocks>);

pub(super) fn cache(file: File, len: u64) -> ReadCache<Blocks> {
    ReadCache::new(Blocks { file, len, position: 0, blocks: HashMap::new() })
}

/// The error for a file of an unknown format.
pub(super) fn describe(data: Bounded<'_>) -> &'static str {
    let len = data.len().unwrap_or(0);
    if len == 0 {
        return "the file is empty";
    }
    let Ok(head) = data.read_bytes_at(0, len.min(64)) else { return "the file cannot be read" };
    if head.starts_with(b"\x7fELF") {
        return "an ELF file cut off in its header";
    }
    if head.starts_with(b"!<arch>\n") || head.starts_with(b"!<thin>\n") {
        return "a static library (archive)";
    }
    if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return "text, perhaps a linker script";
    }
    "neither ELF, Mach-O nor PE"
}

impl<'a> ReadRef<'a> for Bounded<'a> {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(self.0)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size > MOST {
            return Err(());
        }
        self.0.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.0.read_bytes_at_until(range, delimiter)
    }
}

impl ReadCacheOps for Blocks {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.len)
    }

    fn seek(&mut self, position: u64) -> Result<u64, ()> {
        self.position = position;
        Ok(position)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        if buffer.len() as u64 > 2 * BLOCK {
            let count = self.file.read_at(buffer, self.position).map_err(|_| ())?;
            self.position += count as u64;
            return Ok(count);
        }
        // The remainder is less than BLOCK, so it fits any usize.
        let (number, within) = (self.position / BLOCK, (self.position % BLOCK) as usize);
        let block = self.block(number)?;
        let Some(rest) = block.get(within..) else { return Ok(0) };
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }

    fn read_exact(&mut self, mut buffer: &mut [u8]) -> Result<(), ()> {
        while !buffer.is_empty() {
            match self.read(buffer)? {
                0 => return Err(()),
                count => buffer = &mut buffer[count..],
            }
        }
        Ok(())
    }
}

impl Blocks {
    fn block(&mut self, number: u64) -> Result<&[u8], ()> {
        if !self.blocks.contains_key(&number) {
            let start = number.saturating_mul(BLOCK);
            let mut block = vec![0; self.len.saturating_sub(start).min(BLOCK) as usize];
            let mut filled = 0;
            while filled < block.len() {
                match self.file.read_at(&mut block[filled..], start + filled as u64) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Err(()),
                }
            }
            block.truncate(filled);
            self.blocks.insert(number, block.into_boxed_slice());
        }
        self.blocks.get(&number).map(|block| &**block).ok_or(())
    }
}
