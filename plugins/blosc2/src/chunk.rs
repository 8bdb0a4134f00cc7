//! Chunks of Blosc2: a header, and blocks that are shuffled and compressed by themselves.

use ncz_blosc_shuffles::{self as shuffles, Direction};
use ncz_codec::{CodecError, Result};
use ncz_libdeflate::{Format, Tables};
use ncz_lz4_block as lz4;
use zstd_safe::{CCtx, DCtx};

use crate::grid::Grid;
use crate::header::{FILTERS, Header, Special, filter, format};
use crate::{blosclz, delta};

/// Shorter content is stored.
const LEAST: usize = 32;
/// In front of each stream: its length.
const STREAM_HEADER: usize = 4;
/// In the byte after a negative length: the stream is one byte again and again.
const RUN: u8 = 1;

/// The working memory of one thread, allocated at first use.
#[derive(Default)]
pub(crate) struct Buffers {
    /// A block before and after a filter.
    from: Vec<u8>,
    to: Vec<u8>,
    spare: Vec<u8>,
    /// The first block of a chunk, from which the delta filter counts.
    first: Vec<u8>,
    /// The hash table of BloscLZ: positions of byte sequences.
    table: Vec<u32>,
    zstd: Option<CCtx<'static>>,
    unzstd: Option<DCtx<'static>>,
    deflate: Tables,
}

/// A chunk that is to be decoded.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) header: Header,
    /// All of it, header included.
    bytes: &'a [u8],
}

/// The encoder settings of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// 0 (copy) to 9.
    pub(crate) level: u8,
    /// One of those in [`filter`], but not truncation.
    pub(crate) filter: u8,
    /// The number of the compressor in parameters.
    pub(crate) compressor: u8,
    pub(crate) typesize: u8,
}

/// The compressors as parameters number them.
pub(crate) mod compressor {
    pub(crate) const BLOSCLZ: u8 = 0;
    pub(crate) const LZ4: u8 = 1;
    pub(crate) const LZ4HC: u8 = 2;
    pub(crate) const ZLIB: u8 = 4;
    pub(crate) const ZSTD: u8 = 5;
}

impl<'a> Chunk<'a> {
    /// The chunk that `bytes` begins with.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let header = Header::parse(bytes)?;
        let bytes = bytes.get(..header.encoded).unwrap_or_default();
        if header.special.is_none() && header.is_copy && bytes.len() != Header::LEN + header.decoded {
            return Err(CodecError::corrupt("a blosc2 chunk has another length than its content"));
        }
        if header.special == Some(Special::NaNs) && ![4, 8].contains(&header.typesize) {
            return Err(CodecError::corrupt(format!("a blosc2 chunk of NaNs of {} bytes", header.typesize)));
        }
        let value = match header.special {
            Some(Special::NaNs) => Some(header.typesize.into()),
            // The header's byte is too short for some.
            Some(Special::Value) => Some(bytes.len() - Header::LEN),
            Some(Special::Zeros) | None => None,
        };
        let fits = |len: usize| {
            len > 0
                && header.decoded.is_multiple_of(len)
                && (header.blocks() < 2 || header.blocksize.is_multiple_of(len))
        };
        if value.is_some_and(|len| !fits(len)) {
            return Err(CodecError::corrupt("a blosc2 chunk of one value that does not fit its blocks"));
        }
        Ok(Self { header, bytes })
    }

    /// Decodes the whole chunk; `output` is as long as its content.
    pub(crate) fn decode(&self, buffers: &mut Buffers, output: &mut [u8]) -> Result<()> {
        for (block, output) in output.chunks_mut(self.header.blocksize).enumerate() {
            self.decode_block(buffers, block, output)?;
        }
        Ok(())
    }

    /// Decodes a block; `output` is as long as it. Block 0 comes before the others.
    pub(crate) fn decode_block(&self, buffers: &mut Buffers, block: usize, output: &mut [u8]) -> Result<()> {
        let header = &self.header;
        assert!(block < header.blocks() && output.len() == header.block_len(block));
        match header.special {
            Some(Special::Zeros) => output.fill(0),
            Some(Special::NaNs) if header.typesize == 4 => repeat(&f32::NAN.to_le_bytes(), output),
            Some(Special::NaNs) => repeat(&f64::NAN.to_le_bytes(), output),
            Some(Special::Value) => repeat(&self.bytes[Header::LEN..], output),
            None if header.is_copy => {
                let at = Header::LEN + block * header.blocksize;
                output.copy_from_slice(&self.bytes[at..at + output.len()]);
            }
            None => self.unpack(buffers, block, output)?,
        }
        Ok(())
    }

    /// Decompresses a block and undoes its filters.
    fn unpack(&self, buffers: &mut Buffers, block: usize, output: &mut [u8]) -> Result<()> {
        let header = &self.header;
        let len = output.len();
        let mut shuffles = header.active().rev().filter(|&(number, _)| number != filter::DELTA).peekable();
        if shuffles.peek().is_none() {
            self.decompress(buffers, block, output)?;
        } else {
            let mut from = std::mem::take(&mut buffers.from);
            from.resize(len, 0);
            self.decompress(buffers, block, &mut from)?;
            buffers.from = from;
            while let Some((number, size)) = shuffles.next() {
                let last = shuffles.peek().is_none();
                buffers.to.resize(len, 0);
                let to = if last { &mut *output } else { &mut buffers.to };
                shuffle(number, Direction::Back, size, &buffers.from, to, &mut buffers.spare)?;
                std::mem::swap(&mut buffers.from, &mut buffers.to);
            }
        }
        if header.active().next().is_some_and(|(number, _)| number == filter::DELTA) {
            let first = (block > 0).then_some(&buffers.first[..]);
            delta::decode(header.typesize, first, output);
            if block == 0 {
                output.clone_into(&mut buffers.first);
            }
        }
        Ok(())
    }

    /// Decompresses the streams of a block.
    fn decompress(&self, buffers: &mut Buffers, block: usize, output: &mut [u8]) -> Result<()> {
        let damaged = || CodecError::corrupt(format!("block {block} of a blosc2 chunk is damaged"));
        let cut = || CodecError::truncated(format!("block {block} of a blosc2 chunk is cut"));
        let starts = self.bytes[Header::LEN..].as_chunks::<4>().0;
        let start = starts.get(block).map(|start| u32::from_le_bytes(*start) as usize).ok_or_else(cut)?;
        if start < Header::LEN + 4 * self.header.blocks() {
            return Err(damaged());
        }
        let mut rest = self.bytes.get(start..).ok_or_else(cut)?;
        let streams = self.header.streams(output.len());
        let each = output.len() / streams;
        if each * streams != output.len() || each == 0 {
            return Err(damaged());
        }
        for output in output.chunks_mut(each) {
            let (length, after) = rest.split_first_chunk::<STREAM_HEADER>().ok_or_else(cut)?;
            rest = after;
            let length = i32::from_le_bytes(*length);
            let Ok(length) = usize::try_from(length) else {
                let (token, after) = rest.split_first().ok_or_else(cut)?;
                rest = after;
                let byte = u8::try_from(length.unsigned_abs()).map_err(|_| damaged())?;
                if token & RUN == 0 {
                    return Err(damaged());
                }
                output.fill(byte);
                continue;
            };
            let (stream, after) = rest.split_at_checked(length).ok_or_else(cut)?;
            rest = after;
            if length == 0 {
                output.fill(0);
            } else if length == output.len() {
                output.copy_from_slice(stream);
            } else if !buffers.decompress(self.header.format, stream, output)? {
                return Err(damaged());
            }
        }
        Ok(())
    }
}

impl Buffers {
    /// Decodes one stream; whether it fills `output`.
    fn decompress(&mut self, number: u8, stream: &[u8], output: &mut [u8]) -> Result<bool> {
        Ok(match number {
            format::BLOSCLZ => blosclz::decompress(stream, output).is_some(),
            format::LZ4 => lz4::decompress(stream, output) == Some(output.len()),
            format::ZLIB => {
                let inflater = self.deflate.decompressor().ok_or_else(no_memory)?;
                let done = inflater.decompress(Format::Zlib, stream, output);
                done.is_ok_and(|done| done.written == output.len())
            }
            _ => {
                let context = match &mut self.unzstd {
                    Some(context) => context,
                    none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
                };
                let len = output.len();
                context.decompress(output, stream) == Ok(len)
            }
        })
    }

    /// Encodes one stream; `None` if it does not shrink.
    fn compress(&mut self, settings: &Settings, stream: &[u8], output: &mut [u8]) -> Result<Option<usize>> {
        let level = settings.level;
        let length = match settings.compressor {
            compressor::BLOSCLZ => {
                // A block that shrinks only a little is stored, which decodes many times faster.
                let worth = match level {
                    9.. => stream.len(),
                    7.. => stream.len() / 10 * 9,
                    _ => stream.len() / 6 * 5,
                };
                let room = output.len().min(worth);
                blosclz::compress(level, &mut self.table, stream, &mut output[..room])
            }
            compressor::LZ4 => lz4::compress(stream, output, 10 - i32::from(level)),
            compressor::LZ4HC => lz4::compress_strongly(stream, output, level.into()),
            compressor::ZLIB => {
                let deflater = self.deflate.compressor(level.into()).ok_or_else(no_memory)?;
                deflater.compress(Format::Zlib, stream, output)
            }
            _ => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    none => none.insert(CCtx::try_create().ok_or_else(no_memory)?),
                };
                // A result that does not fit is also an error in the library.
                context.compress(output, stream, zstd_level(level)).ok()
            }
        };
        Ok(length.filter(|&length| length < stream.len()))
    }
}

/// The parts of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Bytes, one after the other.
    Bytes(&'a [u8]),
    /// An array of one chunk and its elements.
    Array(&'a Grid, &'a [u8]),
}

impl<'a> Source<'a> {
    /// Returns the bytes of a block, which may be assembled in `spare`.
    fn block<'s>(&self, number: usize, blocksize: usize, spare: &'s mut Vec<u8>) -> &'s [u8]
    where
        'a: 's,
    {
        match *self {
            Self::Bytes(bytes) => &bytes[number * blocksize..bytes.len().min((number + 1) * blocksize)],
            Self::Array(grid, bytes) => {
                spare.resize(blocksize, 0);
                grid.gather(0, number, bytes, spare);
                spare
            }
        }
    }
}

/// Encodes a chunk of `len` bytes in blocks of `blocksize` to the front of `output` and returns its length; 0 if all of
/// it is zero, for which frames have a sign.
///
/// `output` has room for the header and `len` bytes.
pub(crate) fn encode(
    buffers: &mut Buffers,
    settings: &Settings,
    source: Source<'_>,
    len: usize,
    blocksize: usize,
    output: &mut [u8],
) -> Result<usize> {
    let most = Header::LEN + len;
    let output = output.get_mut(..most).ok_or_else(|| CodecError::output_full(Some(most)))?;
    let mut header = Header {
        typesize: settings.typesize,
        decoded: len,
        blocksize,
        encoded: most,
        format: match settings.compressor {
            compressor::BLOSCLZ => format::BLOSCLZ,
            compressor::LZ4 | compressor::LZ4HC => format::LZ4,
            compressor::ZLIB => format::ZLIB,
            _ => format::ZSTD,
        },
        is_split: is_split(settings, blocksize),
        is_copy: settings.level == 0 || len < LEAST,
        special: None,
        filters: [0, 0, 0, 0, 0, settings.filter],
        meta: [0; FILTERS],
        compressor: settings.compressor,
    };
    // The blocks before and after the filter; the contexts are not moved.
    let mut block = std::mem::take(&mut buffers.to);
    let mut filtered = std::mem::take(&mut buffers.from);
    if !header.is_copy {
        match pack(buffers, settings, &header, source, output, &mut block, &mut filtered)? {
            Some(end) => header.encoded = end,
            None => header.is_copy = true,
        }
    }
    if header.is_copy {
        for (number, to) in output[Header::LEN..].chunks_mut(blocksize).enumerate() {
            to.copy_from_slice(source.block(number, blocksize, &mut block));
        }
    }
    (buffers.to, buffers.from) = (block, filtered);
    if header.encoded > 0 {
        output[..Header::LEN].copy_from_slice(&header.to_bytes());
    }
    Ok(header.encoded)
}

/// Writes the blocks and returns their end; `None` if a plain copy is not longer. The end is 0 if all bytes are zero.
fn pack(
    buffers: &mut Buffers,
    settings: &Settings,
    header: &Header,
    source: Source<'_>,
    output: &mut [u8],
    spare: &mut Vec<u8>,
    filtered: &mut Vec<u8>,
) -> Result<Option<usize>> {
    let mut at = Header::LEN + 4 * header.blocks();
    let mut all_zero = true;
    for number in 0..header.blocks() {
        let content = source.block(number, header.blocksize, spare);
        let content = match settings.filter {
            filter::NONE => content,
            other => {
                filtered.resize(content.len(), 0);
                if other == filter::DELTA {
                    if number == 0 {
                        content.clone_into(&mut buffers.first);
                    }
                    let first = (number > 0).then_some(&buffers.first[..]);
                    delta::encode(settings.typesize, first, content, filtered);
                } else {
                    let direction = Direction::Forward;
                    shuffle(other, direction, settings.typesize, content, filtered, &mut buffers.spare)?;
                }
                &*filtered
            }
        };
        let start = output.get_mut(Header::LEN + 4 * number..).and_then(|rest| rest.first_chunk_mut());
        let Some(start) = start else { return Ok(None) };
        *start = (at as u32).to_le_bytes();
        let streams = header.streams(content.len());
        for stream in content.chunks(content.len() / streams) {
            let Some(end) = write_stream(buffers, settings, stream, output, at)? else {
                return Ok(None);
            };
            all_zero &= end == at + STREAM_HEADER;
            at = end;
        }
    }
    // C-Blosc2 does not read zeros that are not whole elements.
    let all_zero = all_zero && header.decoded.is_multiple_of(settings.typesize.into());
    Ok(Some(if all_zero { 0 } else { at }))
}

/// Writes one stream to `at` and returns its end; `None` if it does not fit.
fn write_stream(
    buffers: &mut Buffers,
    settings: &Settings,
    stream: &[u8],
    output: &mut [u8],
    at: usize,
) -> Result<Option<usize>> {
    let Some((length, rest)) =
        output.get_mut(at..).and_then(|rest| rest.split_first_chunk_mut::<STREAM_HEADER>())
    else {
        return Ok(None);
    };
    let at = at + STREAM_HEADER;
    if let Some(byte) = run(stream) {
        *length = (-i32::from(byte)).to_le_bytes();
        return Ok(match (byte, rest.first_mut()) {
            (0, _) => Some(at),
            (_, None) => None,
            (_, Some(token)) => {
                *token = RUN;
                Some(at + 1)
            }
        });
    }
    let room = rest.len().min(stream.len());
    let written = match buffers.compress(settings, stream, &mut rest[..room])? {
        Some(written) => written,
        None => match rest.get_mut(..stream.len()) {
            Some(to) => {
                to.copy_from_slice(stream);
                stream.len()
            }
            None => return Ok(None),
        },
    };
    *length = (written as u32).to_le_bytes();
    Ok(Some(at + written))
}

/// The byte that all of the stream is.
fn run(stream: &[u8]) -> Option<u8> {
    let (&first, rest) = stream.split_first()?;
    rest.iter().all(|&byte| byte == first).then_some(first)
}

/// Whether blocks are split into a stream for each byte of an element (c-blosc2, stune.c): compressors that are fast
/// gain from it after a shuffle.
pub(crate) fn is_split(settings: &Settings, blocksize: usize) -> bool {
    const STREAMS_MAX: u8 = 16;
    let fast = match settings.compressor {
        compressor::BLOSCLZ | compressor::LZ4 => true,
        compressor::ZSTD => settings.level <= 5,
        _ => false,
    };
    let typesize = usize::from(settings.typesize);
    fast && settings.filter == filter::BYTE_SHUFFLE
        && settings.typesize <= STREAMS_MAX
        && blocksize / typesize >= LEAST
        // An assumption of C-Blosc2.
        && blocksize.is_multiple_of(typesize)
}

/// Blosc's levels on zstd's scale, as C-Blosc2 has them.
fn zstd_level(level: u8) -> i32 {
    let most = zstd_safe::max_c_level();
    match i32::from(level) {
        9.. => most,
        level => level * 2 - 1,
    }
}

/// Shuffles by bytes or bits; all buffers get the length of `from`.
fn shuffle(
    number: u8,
    direction: Direction,
    typesize: u8,
    from: &[u8],
    to: &mut [u8],
    spare: &mut Vec<u8>,
) -> Result<()> {
    if number == filter::BYTE_SHUFFLE {
        shuffles::shuffle(direction, typesize, from, to);
        return Ok(());
    }
    // C-Blosc2 shuffles the groups of eight elements and copies the rest; c-blosc copies everything.
    let group = 8 * usize::from(typesize);
    let (from, rest) = from.split_at(from.len() / group * group);
    let (to, last) = to.split_at_mut(from.len());
    last.copy_from_slice(rest);
    spare.resize(from.len(), 0);
    if shuffles::bitshuffle(direction, typesize, from, to, spare) {
        Ok(())
    } else {
        Err(CodecError::unsupported(format!("c-blosc does not shuffle the bits of {typesize}-byte elements")))
    }
}

/// Fills `output` with `value`, again and again.
fn repeat(value: &[u8], output: &mut [u8]) {
    for to in output.chunks_mut(value.len()) {
        to.copy_from_slice(&value[..to.len()]);
    }
}

fn no_memory() -> CodecError {
    CodecError::unsupported("no memory for a compressor of blosc2")
}
