use std::fmt;

use ncz_codec::{CodecError, Coder, Result};
use ncz_lz4_block as lz4;
use zstd_safe::{CCtx, CParameter, DCtx};

use crate::bits;

/// Bytes before the blocks of a compressed stream: the length of the data in 8, that of a block in 4, most significant
/// byte first.
const HEADER: usize = 12;
/// Bytes before each compressed block: its stored length.
const BLOCK_HEADER: usize = 4;
/// Blocks are of a multiple of this many elements.
const MULTIPLE: usize = 8;
/// The default size of a block in bytes, and the least number of elements for it. This must never change: a stream
/// without a compressor does not state it.
const BLOCK_BYTES: usize = 8192;
const BLOCK_ELEMENTS: usize = 128;

/// The compression of the sorted bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Nothing.
    None,
    /// LZ4, very fast.
    Lz4,
    /// Zstandard, stronger.
    Zstd {
        /// The level: -131072 to 22; 0 is the library's default.
        level: i32,
    },
}

/// Encodes and decodes bitshuffle streams.
#[derive(Debug, Clone, Copy)]
pub struct BitshuffleCoder {
    /// Bytes of an element, at least 1.
    size: usize,
    /// Elements of a block, a multiple of 8; 0 for the default.
    block: usize,
    compression: Compression,
}

/// The working memory of one thread, allocated at first use.
#[derive(Default)]
pub struct BitshuffleScratch {
    planes: Vec<u8>,
    rows: Vec<u8>,
    compressor: Option<CCtx<'static>>,
    decompressor: Option<DCtx<'static>>,
}

impl BitshuffleCoder {
    pub(crate) fn new(size: usize, block: usize, compression: Compression) -> Self {
        Self { size, block, compression }
    }

    /// The bytes of a block.
    pub(crate) fn block_bytes(&self) -> Option<usize> {
        let elements = match self.block {
            0 => (BLOCK_BYTES / self.size / MULTIPLE * MULTIPLE).max(BLOCK_ELEMENTS),
            given => given,
        };
        elements.checked_mul(self.size)
    }

    /// The bytes of a block that can be encoded, and of the data that have blocks: the elements after the last
    /// eight are copied.
    fn shape(&self, len: usize) -> Result<(usize, usize)> {
        let block = self.block_bytes().filter(|&block| u32::try_from(block).is_ok()).ok_or_else(|| {
            CodecError::config(
                "cd_values[3]",
                format!("blocks of {} elements of {} bytes are too long", self.block, self.size),
            )
        })?;
        Ok((block, self.sorted(len)?))
    }

    /// Of `len` bytes those that have blocks.
    fn sorted(&self, len: usize) -> Result<usize> {
        if !len.is_multiple_of(self.size) {
            return Err(CodecError::unsupported(format!(
                "{len} bytes are not a multiple of the element size {}, as bitshuffle requires",
                self.size
            )));
        }
        Ok(len - len % (MULTIPLE * self.size))
    }

    fn bound(&self, len: usize) -> Option<usize> {
        match self.compression {
            Compression::None => Some(len),
            Compression::Lz4 => lz4::bound(len),
            Compression::Zstd { .. } => {
                let bound = zstd_safe::compress_bound(len);
                (bound > len && bound < isize::MAX as usize).then_some(bound)
            }
        }
    }

    fn unsort_all(
        &self,
        scratch: &mut BitshuffleScratch,
        block: usize,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<()> {
        let sorted = self.sorted(input.len())?;
        let (rows, rest) = input.split_at(sorted);
        let (to, to_rest) = output.split_at_mut(sorted);
        for (rows, to) in rows.chunks(block).zip(to.chunks_mut(block)) {
            bits::unsort(self.size, rows, room(&mut scratch.planes, rows.len()), to);
        }
        to_rest.copy_from_slice(rest);
        Ok(())
    }

    /// The stated length of the data, the bytes of a block, and the blocks.
    fn split<'a>(&self, input: &'a [u8]) -> Result<(usize, usize, &'a [u8])> {
        let header = input.split_first_chunk().and_then(|(length, rest)| {
            let (block, rest) = rest.split_first_chunk()?;
            Some((u64::from_be_bytes(*length), u32::from_be_bytes(*block) as usize, rest))
        });
        let (length, block, rest) = header.ok_or_else(|| {
            CodecError::truncated(format!("the header of {HEADER} bytes is cut to {}", input.len()))
        })?;
        let block = match block {
            0 => self.block_bytes().unwrap_or(0),
            stated => stated,
        };
        if block == 0 || !block.is_multiple_of(MULTIPLE * self.size) {
            return Err(CodecError::corrupt(format!(
                "blocks of {block} bytes are not a multiple of 8 elements of {} bytes",
                self.size
            )));
        }
        let most = match self.compression {
            // Bytes that are compressed to nothing much have at least the head of their block.
            Compression::Zstd { .. } => {
                (rest.len() / BLOCK_HEADER).saturating_mul(block).saturating_add(MULTIPLE * self.size)
            }
            _ => rest.len().saturating_mul(lz4::RATIO_MAX),
        };
        let length = usize::try_from(length).ok().filter(|&length| length <= most).ok_or_else(|| {
            CodecError::corrupt(format!("{length} bytes are stated, more than {} bytes can hold", rest.len()))
        })?;
        if !length.is_multiple_of(self.size) {
            return Err(CodecError::corrupt(format!(
                "the stated length of {length} bytes is not a multiple of the element size {}",
                self.size
            )));
        }
        Ok((length, block, rest))
    }
}

impl Coder for BitshuffleCoder {
    type Scratch = BitshuffleScratch;

    fn scratch(&self) -> BitshuffleScratch {
        BitshuffleScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        if self.compression == Compression::None {
            return Some(len);
        }
        let block = self.block_bytes()?;
        let sorted = len - len % (MULTIPLE * self.size);
        let whole = self.bound(block.min(sorted))?.checked_add(BLOCK_HEADER)?.checked_mul(sorted / block)?;
        let last = match sorted % block {
            0 => 0,
            last => self.bound(last)?.checked_add(BLOCK_HEADER)?,
        };
        whole.checked_add(last)?.checked_add(len - sorted)?.checked_add(HEADER)
    }

    fn encode(&self, scratch: &mut BitshuffleScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (block, sorted) = self.shape(input.len())?;
        let full = || CodecError::output_full(self.max_encoded_len(input.len()));
        let (data, rest) = input.split_at(sorted);
        if self.compression == Compression::None {
            let output = output.get_mut(..input.len()).ok_or_else(full)?;
            let (to, to_rest) = output.split_at_mut(sorted);
            for (data, to) in data.chunks(block).zip(to.chunks_mut(block)) {
                bits::sort(self.size, data, room(&mut scratch.planes, data.len()), to);
            }
            to_rest.copy_from_slice(rest);
            return Ok(input.len());
        }
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&(input.len() as u64).to_be_bytes());
        header[8..].copy_from_slice(&(block as u32).to_be_bytes());
        output.get_mut(..HEADER).ok_or_else(full)?.copy_from_slice(&header);
        let mut at = HEADER;
        for data in data.chunks(block) {
            let rows = room(&mut scratch.rows, data.len());
            bits::sort(self.size, data, room(&mut scratch.planes, data.len()), rows);
            let (length, to) = output
                .get_mut(at..)
                .and_then(|rest| rest.split_first_chunk_mut::<BLOCK_HEADER>())
                .ok_or_else(full)?;
            let written = match self.compression {
                Compression::Zstd { level } => {
                    compress_zstd(&mut scratch.compressor, level, rows, to)?.ok_or_else(full)?
                }
                _ => lz4::compress(rows, to, 1).ok_or_else(full)?,
            };
            *length = (written as u32).to_be_bytes();
            at += BLOCK_HEADER + written;
        }
        output.get_mut(at..at + rest.len()).ok_or_else(full)?.copy_from_slice(rest);
        Ok(at + rest.len())
    }

    fn decode(&self, scratch: &mut BitshuffleScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        if self.compression == Compression::None {
            let output =
                output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))?;
            let (block, _) = self.shape(input.len())?;
            self.unsort_all(scratch, block, input, output)?;
            return Ok(input.len());
        }
        let (length, block, mut rest) = self.split(input)?;
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        let (sorted, last) = output.split_at_mut(self.sorted(length)?);
        for (number, to) in sorted.chunks_mut(block).enumerate() {
            let (stored, next) = split_block(rest).ok_or_else(|| cut(number))?;
            rest = next;
            let rows = room(&mut scratch.rows, to.len());
            let decoded = match self.compression {
                Compression::Zstd { .. } => decompress_zstd(&mut scratch.decompressor, stored, rows)?,
                _ => lz4::decompress(stored, rows),
            };
            if decoded != Some(to.len()) {
                return Err(CodecError::corrupt(format!(
                    "block {number} does not decompress to {} bytes",
                    to.len()
                )));
            }
            bits::unsort(self.size, rows, room(&mut scratch.planes, to.len()), to);
        }
        last.copy_from_slice(check_rest(rest, last.len())?);
        Ok(length)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        match self.compression {
            Compression::None => Ok(Some(input.len())),
            _ => self.split(input).map(|(length, ..)| Some(length)),
        }
    }

    /// Goes from head to head of the blocks.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        let length = self.decoded_len(input)?;
        if let (Some(length), Some(len)) = (length, len)
            && length != len
        {
            return Err(CodecError::size(len, length, "the decoded length that the stream states"));
        }
        if self.compression != Compression::None {
            let (length, block, mut rest) = self.split(input)?;
            let sorted = self.sorted(length)?;
            for number in 0..sorted.div_ceil(block) {
                (_, rest) = split_block(rest).ok_or_else(|| cut(number))?;
            }
            check_rest(rest, length - sorted)?;
        }
        Ok(None)
    }
}

fn cut(number: usize) -> CodecError {
    CodecError::truncated(format!("block {number} of the chunk is cut"))
}

/// The elements after the last block, which are stored as they are.
fn check_rest(rest: &[u8], len: usize) -> Result<&[u8]> {
    match rest.split_at_checked(len) {
        Some((copied, [])) => Ok(copied),
        Some((_, extra)) => Err(CodecError::trailing(extra.len())),
        None => Err(CodecError::truncated("the elements after the last block are cut")),
    }
}

impl fmt::Debug for BitshuffleScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BitshuffleScratch").finish_non_exhaustive()
    }
}

/// The stored form of a block, and the rest of the stream.
fn split_block(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk::<BLOCK_HEADER>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// The first `len` bytes of `memory`, which grows if need be: never beyond the data that are coded.
fn room(memory: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if memory.len() < len {
        memory.resize(len, 0);
    }
    &mut memory[..len]
}

/// `None` if it does not fit.
fn compress_zstd(
    context: &mut Option<CCtx<'static>>,
    level: i32,
    input: &[u8],
    output: &mut [u8],
) -> Result<Option<usize>> {
    let context = match context {
        Some(context) => context,
        none => none.insert(CCtx::try_create().ok_or_else(no_memory)?),
    };
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::ChecksumFlag(false),
        CParameter::ContentSizeFlag(true),
    ] {
        context.set_parameter(parameter).map_err(|_| no_memory())?;
    }
    Ok(context.compress2(output, input).ok())
}

/// `None` if it is not a frame that fits.
fn decompress_zstd(
    context: &mut Option<DCtx<'static>>,
    input: &[u8],
    output: &mut [u8],
) -> Result<Option<usize>> {
    let context = match context {
        Some(context) => context,
        none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
    };
    Ok(context.decompress(output, input).ok())
}

fn no_memory() -> CodecError {
    CodecError::unsupported("zstd found no memory for its context")
}
