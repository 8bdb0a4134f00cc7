//! The outer layout of blosc2's frames (filter 32026), as far as needed to find which compressors a frame requires.
//! For some, the library runs `python` in a shell to find them, so a chunk could run code from the working directory.

use ncz_codec::{CodecError, Result};

/// From this number on compressors are plugins of blosc2's own.
pub(super) const PLUGINS: u8 = 36;
/// The compressors that it has and that are numbered like plugins.
const OWN: std::ops::Range<u8> = 32..PLUGINS;

/// The compressor format which means that the compressor's number is stored elsewhere.
const BY_NUMBER: u8 = 6;
/// The length of a chunk's header.
const HEADER: usize = 32;
/// A chunk is stored uncompressed.
const PLAIN: u8 = 0x02;

/// Refuses a frame with a compressor that the library would search for.
///
/// A frame is a header, chunks, and an index of their offsets, which is a chunk as well. Any other layout than that
/// of HDF5's filter is refused: a chunk that is not found here must not be found by the library.
pub(super) fn check(frame: &[u8]) -> Result<()> {
    let cut = || CodecError::truncated("the frame of blosc2 ends early");
    if frame.get(2..9).ok_or_else(cut)? != b"b2frame" {
        return Err(CodecError::corrupt("no frame of blosc2"));
    }
    let header = u32::from_be_bytes(bytes(frame, 11).ok_or_else(cut)?) as usize;
    let stored = u64::from_be_bytes(bytes(frame, 39).ok_or_else(cut)?);
    let chunks = frame.get(header..).ok_or_else(cut)?;
    let index = usize::try_from(stored).ok().and_then(|stored| chunks.get(stored..)).ok_or_else(cut)?;
    let index_header = index.get(..HEADER).ok_or_else(cut)?;
    check_chunk(index_header)?;
    if index_header[2] & PLAIN == 0 || index_header[31] != 0 {
        return Err(CodecError::unsupported("a frame of blosc2 whose index is not plain"));
    }
    let len = u32::from_le_bytes(bytes(index, 4).ok_or_else(cut)?) as usize;
    let offsets = index[HEADER..].get(..len).ok_or_else(cut)?;
    for offset in offsets.chunks(8) {
        let offset = i64::from_le_bytes(bytes(offset, 0).ok_or_else(cut)?);
        // Negative ones mean chunks of one value, which are not stored.
        if let Ok(offset) = usize::try_from(offset) {
            check_chunk(chunks.get(offset..).and_then(|chunk| chunk.get(..HEADER)).ok_or_else(cut)?)?;
        }
    }
    Ok(())
}

/// Looks at the header of a chunk.
fn check_chunk(header: &[u8]) -> Result<()> {
    let number = header[22];
    if header[2] >> 5 == BY_NUMBER && !OWN.contains(&number) {
        return Err(CodecError::unsupported(format!(
            "blosc2 looks for compressor {number} by running a shell, which is not allowed"
        )));
    }
    Ok(())
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}
