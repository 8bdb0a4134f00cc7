//! libdeflate for the codecs deflate, gzip and blosc2, with the number of bytes that a decoder has read, which shows
//! whether others follow.
//!
//! ```
//! use ncz_libdeflate::{Format, Tables, bound};
//!
//! let data = b"to be, or not to be, or to be";
//! let mut tables = Tables::default();
//! let mut stream = vec![0; bound(data.len()).unwrap()];
//! let length = tables.compressor(9).unwrap().compress(Format::Zlib, data, &mut stream).unwrap();
//! let mut back = [0; 29];
//! let done = tables.decompressor().unwrap().decompress(Format::Zlib, &stream, &mut back).unwrap();
//! assert_eq!((done.read, done.written), (length, 29));
//! assert_eq!(back, *data);
//! ```

mod coding;
mod ffi;

use std::fmt;

pub use coding::{ZLIB_DEFAULT, decompressor, encode, level_word, plain_level};
pub use ffi::{Compressor, Decompressor, crc32};

/// The container of deflate data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Nothing (RFC 1951).
    Raw,
    /// A header of two bytes and an Adler-32 (RFC 1950).
    Zlib,
    /// A header of ten bytes or more, a CRC-32 and a length (RFC 1952).
    Gzip,
}

/// The progress of a decoder in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Of the input.
    pub read: usize,
    /// Of the output.
    pub written: usize,
}

/// Why a decoder gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The data are damaged or end too early.
    Bad,
    /// There is more than the output holds.
    OutputFull,
}

/// The tables of one thread, each made when it is first needed.
#[derive(Default)]
pub struct Tables {
    compressor: Option<Compressor>,
    decompressor: Option<Decompressor>,
}

impl Tables {
    /// A compressor for `level`, 0 to 12; `None`: no memory, or not a level.
    pub fn compressor(&mut self, level: i32) -> Option<&mut Compressor> {
        // Tables belong to a level, and a thread may pass them from one configuration to another.
        if self.compressor.as_ref().is_none_or(|compressor| compressor.level() != level) {
            self.compressor = Some(Compressor::new(level)?);
        }
        self.compressor.as_mut()
    }

    /// A decompressor; `None`: no memory.
    pub fn decompressor(&mut self) -> Option<&mut Decompressor> {
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new()?);
        }
        self.decompressor.as_mut()
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

/// The most bytes that `len` bytes take in any format, a plain header of gzip included; `None`: more than there can be.
pub fn bound(len: usize) -> Option<usize> {
    /// The longest frame, gzip's, and 8 bytes of margin that libdeflate requires.
    const FRAME: usize = 18 + 8;
    // Stored blocks of at least 5000 bytes (libdeflate's least) with 5 bytes each, one for the end, and the frame.
    len.div_ceil(5000).max(1).checked_mul(5)?.checked_add(len)?.checked_add(1 + FRAME)
}
