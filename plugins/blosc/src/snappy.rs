//! Frames compressed with snappy, block by block, so that the plugin needs no C++ library.

use ncz_blosc_shuffles::{self as shuffles, Direction};
use ncz_codec::{CodecError, Result};
use snap::raw::{Decoder, Encoder};

use crate::ffi::{Filter, Settings};
use crate::header::Header;

/// The number of snappy's format in the header.
pub(crate) const FORMAT: u8 = 2;
/// The default block size: half of a typical L2 cache.
const BLOCK: usize = 256 << 10;
/// The least block size, as in c-blosc.
const LEAST_BLOCK: usize = 128;

/// Buffers that one thread uses again.
#[derive(Default)]
pub(crate) struct Buffers {
    block: Vec<u8>,
    spare: Vec<u8>,
    packed: Vec<u8>,
    encoder: Option<Encoder>,
}

/// Writes a frame and returns its length. `output` holds the content and a header.
pub(crate) fn encode(
    buffers: &mut Buffers,
    settings: Settings,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize> {
    let Settings { level, filter, typesize, blocksize } = settings;
    let blocksize = if blocksize == 0 { BLOCK } else { blocksize.max(LEAST_BLOCK) };
    // Whole elements, and for the bit filter whole groups of eight.
    let unit = typesize * if filter == Filter::Bit { 8 } else { 1 };
    let blocksize = blocksize.next_multiple_of(unit).min(input.len()).max(1);
    let header = Header::new(FORMAT, filter, typesize as u8, input.len(), blocksize);
    let length = if level == 0 { None } else { pack(buffers, &header, input, output)? };
    let (header, length) = match length {
        Some(length) => (header, length),
        None => {
            let length = Header::LEN + input.len();
            output
                .get_mut(Header::LEN..length)
                .ok_or_else(|| CodecError::output_full(Some(length)))?
                .copy_from_slice(input);
            (header.with_copy(), length)
        }
    };
    output[..Header::LEN].copy_from_slice(&header.to_bytes(length));
    Ok(length)
}

/// Decodes a frame that is not a copy; `output` is of the length that the header states.
pub(crate) fn decode(buffers: &mut Buffers, header: &Header, frame: &[u8], output: &mut [u8]) -> Result<()> {
    if header.format != 1 || header.flags & 0x08 != 0 {
        return Err(CodecError::corrupt("the blosc frame is of an unknown kind"));
    }
    let starts = frame[Header::LEN..].as_chunks::<4>().0;
    if starts.len() < output.len().div_ceil(header.blocksize) {
        return Err(CodecError::corrupt("the list of blocks is longer than the blosc frame"));
    }
    for (to, start) in output.chunks_mut(header.blocksize).zip(starts) {
        let at = u32::from_le_bytes(*start) as usize;
        let streams = if to.len() == header.blocksize { header.streams() } else { 1 };
        let filter = header.filter(to.len());
        let mut rest = frame.get(at..).ok_or_else(damaged)?;
        if filter == Filter::None {
            unpack(&mut rest, streams, to)?;
            continue;
        }
        buffers.block.resize(to.len(), 0);
        buffers.spare.resize(to.len(), 0);
        unpack(&mut rest, streams, &mut buffers.block)?;
        if !shuffle(filter, Direction::Back, header.typesize, &buffers.block, to, &mut buffers.spare) {
            return Err(damaged());
        }
    }
    Ok(())
}

/// Compresses the blocks; `None` if the frame would be longer than a copy.
fn pack(buffers: &mut Buffers, header: &Header, input: &[u8], output: &mut [u8]) -> Result<Option<usize>> {
    let most = (Header::LEN + input.len()).min(output.len());
    let mut at = Header::LEN + 4 * input.len().div_ceil(header.blocksize);
    let encoder = buffers.encoder.get_or_insert_with(Encoder::new);
    for (index, from) in input.chunks(header.blocksize).enumerate() {
        let filter = header.filter(from.len());
        buffers.block.resize(from.len(), 0);
        buffers.spare.resize(from.len(), 0);
        let typesize = header.typesize;
        if !shuffle(filter, Direction::Forward, typesize, from, &mut buffers.block, &mut buffers.spare) {
            return Ok(None);
        }
        buffers.packed.resize(snap::raw::max_compress_len(from.len()), 0);
        let length = encoder
            .compress(&buffers.block, &mut buffers.packed)
            .map_err(|error| CodecError::unsupported(error.to_string()))?;
        // A stream as long as its content is interpreted as the content itself.
        let stream = if length < from.len() { &buffers.packed[..length] } else { &buffers.block[..] };
        let end = at + 4 + stream.len();
        if end > most {
            return Ok(None);
        }
        let start = Header::LEN + 4 * index;
        output[start..start + 4].copy_from_slice(&(at as u32).to_le_bytes());
        output[at..at + 4].copy_from_slice(&(stream.len() as u32).to_le_bytes());
        output[at + 4..end].copy_from_slice(stream);
        at = end;
    }
    Ok(Some(at))
}

/// Decodes the streams of one block, each with its length in front.
fn unpack(rest: &mut &[u8], streams: usize, to: &mut [u8]) -> Result<()> {
    let each = to.len() / streams;
    if each * streams != to.len() {
        return Err(damaged());
    }
    for to in to.chunks_mut(each) {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (stream, after) =
            after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        *rest = after;
        if stream.len() == to.len() {
            to.copy_from_slice(stream);
        } else if Decoder::new().decompress(stream, to).ok() != Some(to.len()) {
            return Err(damaged());
        }
    }
    Ok(())
}

fn damaged() -> CodecError {
    CodecError::corrupt("a block of the blosc frame is damaged")
}

/// Runs a filter over one block; all buffers have one length. Returns whether it worked.
fn shuffle(
    filter: Filter,
    direction: Direction,
    typesize: u8,
    from: &[u8],
    to: &mut [u8],
    spare: &mut [u8],
) -> bool {
    match filter {
        Filter::None => to.copy_from_slice(from),
        Filter::Byte => shuffles::shuffle(direction, typesize, from, to),
        Filter::Bit => return shuffles::bitshuffle(direction, typesize, from, to, spare),
    }
    true
}
