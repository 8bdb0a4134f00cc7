//! The frame of HDF5 filter 4: the uncompressed length as 4 little-endian bytes, then the szip
//! stream.

use crate::error::SzError;

/// The bytes before the stream.
pub const FRAME_LEN: usize = 4;

/// The bytes to put before the stream of `len` uncompressed bytes.
///
/// # Errors
/// `TooLong` if `len` does not fit in 32 bits.
pub fn frame_header(len: usize) -> Result<[u8; FRAME_LEN], SzError> {
    let len = u32::try_from(len).map_err(|_| SzError::TooLong { len })?;
    Ok(len.to_le_bytes())
}

/// Splits the bytes of a chunk into the uncompressed length, at most `limit`, and the stream.
///
/// # Errors
/// `Truncated` if the header is cut; `OverLimit`, to be met before memory is taken.
pub fn split_frame(chunk: &[u8], limit: usize) -> Result<(usize, &[u8]), SzError> {
    let (header, stream) = chunk.split_first_chunk().ok_or(SzError::Truncated)?;
    let declared = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
    if declared > limit {
        return Err(SzError::OverLimit { declared, limit });
    }
    Ok((declared, stream))
}
