//! The frame of HDF5 filter 4: the uncompressed length as 4 little-endian bytes, then the szip
//! stream.

use crate::error::SzError;

/// The bytes before the stream.
pub const FRAME_LEN: usize = 4;

/// The largest number of decoded bytes per byte of a stream: the shortest code is longer than a bit, and means at
/// most that a segment of 64 blocks of 32 samples of 4 bytes is zero.
const DECODED_PER_BYTE: usize = 8 * 64 * 32 * 4;

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
/// `Truncated` if the header is incomplete, or the stream is far too short for that length; `OverLimit`. Both are
/// returned before memory is allocated.
pub fn split_frame(chunk: &[u8], limit: usize) -> Result<(usize, &[u8]), SzError> {
    let (header, stream) = chunk.split_first_chunk().ok_or(SzError::Truncated)?;
    let declared = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
    if declared > limit {
        return Err(SzError::OverLimit { declared, limit });
    }
    if declared > stream.len().saturating_mul(DECODED_PER_BYTE) {
        return Err(SzError::Truncated);
    }
    Ok((declared, stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_no_such_stream_has_is_refused() {
        let chunk =
            |declared: u32, stream: usize| [declared.to_le_bytes().to_vec(), vec![0; stream]].concat();
        assert_eq!(split_frame(&chunk(u32::MAX, 28), usize::MAX).unwrap_err(), SzError::Truncated);
        assert_eq!(split_frame(&chunk(1, 0), usize::MAX).unwrap_err(), SzError::Truncated);
        assert_eq!(split_frame(&chunk(0, 0), usize::MAX).unwrap(), (0, &[][..]));
        assert_eq!(split_frame(&chunk(65_536, 1), usize::MAX).unwrap(), (65_536, &[0][..]));
    }
}
