//! The code that the codecs deflate and gzip share: the level, and encoding.

use ncz_codec::{CodecError, Result};

use crate::{Decompressor, Format, Tables, bound};

/// The level that zlib's -1 means.
pub const ZLIB_DEFAULT: i32 = 6;

/// Returns the level, -1 to 9, as a number from 0 to 9.
///
/// # Errors
/// Another number.
pub fn plain_level(level: i32) -> Result<i32> {
    match level {
        -1 => Ok(ZLIB_DEFAULT),
        0..=9 => Ok(level),
        other => Err(CodecError::config("level", format!("{other} is not within -1 to 9"))),
    }
}

/// Returns the level as a parameter word.
///
/// # Errors
/// As [`plain_level`].
pub fn level_word(level: &i32) -> Result<u32> {
    plain_level(*level).map(|level| level as u32)
}

/// Encodes `input` in this format with this level, 0 to 9; returns the length.
///
/// # Errors
/// `output` is too short, or memory cannot be allocated.
pub fn encode(
    tables: &mut Tables,
    level: i32,
    format: Format,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize> {
    let compressor = tables.compressor(level).ok_or_else(no_memory)?;
    let done = compressor.compress(format, input, output);
    done.ok_or_else(|| CodecError::output_full(bound(input.len())))
}

/// The decompressor of this thread.
///
/// # Errors
/// Memory cannot be allocated.
pub fn decompressor(tables: &mut Tables) -> Result<&mut Decompressor> {
    tables.decompressor().ok_or_else(no_memory)
}

fn no_memory() -> CodecError {
    CodecError::unsupported("libdeflate found no memory for its tables")
}
