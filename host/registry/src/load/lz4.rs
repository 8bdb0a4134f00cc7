//! The outer layout of HDF5's LZ4 (filter 32004), which its C plugins walk without checking the end of a chunk: for a
//! truncated chunk they return the memory after it. The chunk is checked before they get it.

use ncz_codec::{CodecError, Result};

/// The HDF5 id.
pub(super) const ID: u32 = 32_004;

/// Checks that the blocks fill the chunk to its last byte. The layout, all numbers big-endian: the decoded length
/// in 8 bytes, the length of a block in 4, then of each block its stored length in 4 and its bytes.
pub(super) fn check(stored: &[u8]) -> Result<()> {
    let cut = || CodecError::truncated(format!("{} bytes do not hold all its LZ4 blocks", stored.len()));
    let (decoded, rest) = stored.split_first_chunk().ok_or_else(cut)?;
    let (block, mut rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let (decoded, block) = (u64::from_be_bytes(*decoded), u64::from(u32::from_be_bytes(*block)));
    if block == 0 && decoded > 0 {
        return Err(CodecError::corrupt("its LZ4 blocks have no length"));
    }
    let mut left = decoded;
    while left > 0 {
        let (len, data) = rest.split_first_chunk().ok_or_else(cut)?;
        let len = u32::from_be_bytes(*len) as usize;
        rest = data.get(len..).ok_or_else(cut)?;
        left = left.saturating_sub(block);
    }
    match rest.len() {
        0 => Ok(()),
        extra => Err(CodecError::trailing(extra)),
    }
}
