//! Frames: a header, chunks, an index of their positions, and a trailer (c-blosc2, README_CFRAME_FORMAT.rst).

use ncz_codec::{CodecError, Result};

use crate::chunk::{Buffers, Chunk};
use crate::grid::{Grid, RANK_MAX};
use crate::header::{FILTERS, Header, filter};

/// The most chunks of a frame. HDF5's filter writes one, and an array of many is what the chunks of HDF5 are for.
const CHUNKS_MAX: usize = 1 << 16;
/// The most bytes that the chunks of an array come to, filled up: the limit of a decoded chunk of HDF5.
const FILLED_MAX: usize = 4 << 30;
/// The most times that an array is longer for that, if not by `FILLED_LITTLE` bytes. The 2^31 bytes of one chunk
/// never hold less than a 130th of it: that takes five dimensions of 4 in blocks of 3 and six of 5 in blocks of 4.
const FILLED_TIMES: usize = 256;
const FILLED_LITTLE: usize = 64 << 20;
/// The length of a frame's header without metalayers, and of a trailer without them.
const HEADER: usize = 0x57;
const TRAILER: usize = 35;
/// The length of the index of one chunk.
const INDEX: usize = Header::LEN + 8;
/// In the highest byte of an offset: what means a chunk that is not stored.
const ZEROS: u8 = 0x81;
const NANS: u8 = 0x82;
const UNSET: u8 = 0x84;
/// The most metalayers.
const LAYERS_MAX: u16 = 16;

/// A frame that is to be decoded.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// The chunks, one after the other.
    chunks: &'a [u8],
    /// The chunk with the offsets of the others; empty if there is none.
    index: &'a [u8],
    /// The number of chunks, and the decoded length of each.
    count: usize,
    pub(crate) chunk_len: usize,
    /// The bytes of an element.
    pub(crate) type_size: usize,
    /// The array that the frame holds; `None` if it holds bytes.
    pub(crate) grid: Option<Grid>,
    /// The decoded length.
    pub(crate) decoded: usize,
}

/// The location of a chunk in a frame.
pub(crate) enum Place<'a> {
    Stored(Chunk<'a>),
    Zeros,
    /// NaNs of 4 or 8 bytes.
    NaNs,
}

impl<'a> Frame<'a> {
    /// Reads the header, the index and the trailer of the frame `input`.
    pub(crate) fn parse(input: &'a [u8]) -> Result<Self> {
        let mut fields = Fields { bytes: input, at: 0 };
        fields.marker(0x9e)?;
        fields.marker(0xa8)?;
        if fields.take::<8>()? != *b"b2frame\0" {
            return Err(CodecError::corrupt("this is not a blosc2 frame"));
        }
        let header_len = fields.u32(0xd2)? as usize;
        let frame_len = fields.u64(0xcf)?;
        if frame_len > input.len() as u64 {
            return Err(CodecError::truncated(format!(
                "the blosc2 frame states {frame_len} bytes, {} are there",
                input.len()
            )));
        }
        if frame_len < input.len() as u64 {
            return Err(CodecError::trailing(input.len() - frame_len as usize));
        }
        fields.marker(0xa4)?;
        let [general, kind, _codec, _split] = fields.take::<4>()?;
        let unsupported = |what: String| Err(CodecError::unsupported(what));
        if !(1..=2).contains(&(general & 0x0f)) {
            return unsupported(format!("a blosc2 frame of version {}; 2 is known", general & 0x0f));
        }
        if general >> 4 & 3 != 1 || general & 0x40 != 0 {
            return unsupported("a blosc2 frame with offsets or chunks of other lengths than usual".into());
        }
        if kind & 0x0f != 0 {
            return unsupported("a blosc2 frame whose chunks are in other files".into());
        }
        let contradiction = || CodecError::corrupt("the lengths in the blosc2 frame contradict each other");
        let length = |value: u64| usize::try_from(value).map_err(|_| contradiction());
        let decoded = length(fields.u64(0xd3)?)?;
        let stored = length(fields.u64(0xd3)?)?;
        let type_size = fields.u32(0xd2)? as usize;
        let _block_size = fields.u32(0xd2)?;
        let chunk_len = fields.u32(0xd2)? as usize;
        let _threads = (fields.u16(0xd1)?, fields.u16(0xd1)?);
        let [_has_layers_behind, _extension, _filters] = fields.take::<3>()?;
        let _filters = fields.take::<16>()?;
        let layer = fields.array_layer()?;
        let rest = input.get(header_len..).filter(|_| header_len >= HEADER).ok_or_else(contradiction)?;
        let (chunks, rest) = rest.split_at_checked(stored).ok_or_else(contradiction)?;
        let count = match (decoded, chunk_len) {
            (0, _) => 0,
            (_, 0) => return Err(contradiction()),
            (decoded, chunk_len) => decoded.div_ceil(chunk_len),
        };
        let (index, trailer) = match count {
            0 => (&[][..], rest),
            _ => rest.split_at_checked(Header::parse(rest)?.encoded).ok_or_else(contradiction)?,
        };
        check_trailer(trailer)?;
        if count > CHUNKS_MAX {
            return unsupported(format!("a blosc2 frame of {count} chunks; {CHUNKS_MAX} are the limit"));
        }
        let grid = layer.map(|layer| grid(layer, chunk_len)).transpose()?;
        let decoded = match &grid {
            Some(grid) => {
                let wanted = grid.chunks().and_then(|chunks| chunks.checked_mul(chunk_len));
                if wanted != Some(decoded) {
                    return Err(contradiction());
                }
                let len = grid.len().ok_or_else(contradiction)?;
                let most = len.saturating_mul(FILLED_TIMES).saturating_add(FILLED_LITTLE).min(FILLED_MAX);
                if decoded > most {
                    return unsupported(format!(
                        "a blosc2 array of {len} bytes whose chunks and blocks are filled up to {decoded}; take lengths that divide those of the array"
                    ));
                }
                len
            }
            None if count > 1 => {
                return unsupported(format!("a blosc2 frame of {count} chunks that are not an array"));
            }
            None => decoded,
        };
        if count == 1 && grid.is_none() && chunk_len != decoded {
            return Err(contradiction());
        }
        Ok(Self { chunks, index, count, chunk_len, type_size, grid, decoded })
    }

    /// The chunks, in order.
    pub(crate) fn places(&self, buffers: &mut Buffers) -> Result<Vec<Place<'a>>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let index = Chunk::parse(self.index)?;
        if index.header.decoded != 8 * self.count {
            return Err(CodecError::corrupt("the index of the blosc2 frame is for another number of chunks"));
        }
        let mut offsets = vec![0; index.header.decoded];
        index.decode(buffers, &mut offsets)?;
        offsets.as_chunks::<8>().0.iter().map(|offset| self.place(u64::from_le_bytes(*offset))).collect()
    }

    fn place(&self, offset: u64) -> Result<Place<'a>> {
        // The highest byte of an offset is the special value of a chunk that is not stored.
        match (offset >> 56) as u8 {
            ZEROS => return Ok(Place::Zeros),
            NANS => return Ok(Place::NaNs),
            UNSET => return Err(CodecError::unsupported("a blosc2 chunk whose values were never set")),
            0x80.. => return Err(CodecError::unsupported("a blosc2 chunk of an unknown special kind")),
            _ => {}
        }
        let bytes = usize::try_from(offset).ok().and_then(|at| self.chunks.get(at..));
        let chunk =
            Chunk::parse(bytes.ok_or_else(|| CodecError::corrupt("a blosc2 chunk lies outside its frame"))?)?;
        if chunk.header.decoded != self.chunk_len {
            return Err(CodecError::corrupt("a blosc2 chunk is not of the length that its frame states"));
        }
        if let Some(grid) = &self.grid
            && grid.block_len() != Some(chunk.header.blocksize)
        {
            return Err(CodecError::unsupported("a blosc2 array whose blocks are not those of its chunk"));
        }
        Ok(Place::Stored(chunk))
    }
}

/// The array that a metalayer describes, whose chunks are of `chunk_len` bytes.
fn grid(layer: &[u8], chunk_len: usize) -> Result<Grid> {
    let mut fields = Fields { bytes: layer, at: 0 };
    let [head, _version, rank] = fields.take::<3>()?;
    let damaged = || CodecError::corrupt("the description of the array in the blosc2 frame is damaged");
    let rank = usize::from(rank);
    if ![0x95, 0x97].contains(&head) || rank > RANK_MAX {
        return Err(damaged());
    }
    let mut grid = Grid { item: 1, shape: Vec::new(), chunk: Vec::new(), block: Vec::new() };
    fields.marker(0x90 + rank as u8)?;
    for _ in 0..rank {
        grid.shape.push(usize::try_from(fields.u64(0xd3)?).map_err(|_| damaged())?);
    }
    for lengths in [&mut grid.chunk, &mut grid.block] {
        fields.marker(0x90 + rank as u8)?;
        for _ in 0..rank {
            lengths.push(fields.u32(0xd2)? as usize);
        }
    }
    if grid.shape.contains(&0) {
        return Err(CodecError::unsupported("a blosc2 array without elements"));
    }
    let mut lengths = grid.shape.iter().zip(&grid.chunk).zip(&grid.block);
    if lengths.any(|((&shape, &chunk), &block)| block == 0 || block > chunk || chunk > shape) {
        return Err(CodecError::unsupported(
            "a blosc2 array with chunks beyond its edges or blocks beyond theirs",
        ));
    }
    let elements = grid.chunk_len().ok_or_else(damaged)?;
    if chunk_len == 0 || !chunk_len.is_multiple_of(elements) {
        return Err(damaged());
    }
    // The frame's element size is 1 if the array's is more than 255.
    grid.item = chunk_len / elements;
    Ok(grid)
}

fn check_trailer(trailer: &[u8]) -> Result<()> {
    let damaged = || CodecError::corrupt("the end of the blosc2 frame is damaged");
    let (front, end) = trailer.split_at_checked(trailer.len().wrapping_sub(23)).ok_or_else(damaged)?;
    let &[0x94, 1, ..] = front else { return Err(damaged()) };
    let mut fields = Fields { bytes: end, at: 0 };
    if fields.u32(0xce).ok() != u32::try_from(trailer.len()).ok() || fields.marker(0xd8).is_err() {
        return Err(damaged());
    }
    Ok(())
}

/// msgpack fields, one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()).copied();
        self.at += N;
        bytes.ok_or_else(|| CodecError::truncated("the header of the blosc2 frame is cut"))
    }

    fn marker(&mut self, wanted: u8) -> Result<()> {
        let [found] = self.take()?;
        if found == wanted {
            return Ok(());
        }
        Err(CodecError::corrupt(format!(
            "a blosc2 frame has {wanted:#04x} at byte {}, this has {found:#04x}",
            self.at - 1
        )))
    }

    fn u16(&mut self, marker: u8) -> Result<u16> {
        self.marker(marker)?;
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self, marker: u8) -> Result<u32> {
        self.marker(marker)?;
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self, marker: u8) -> Result<u64> {
        self.marker(marker)?;
        self.take().map(u64::from_be_bytes)
    }

    /// The metalayer that describes an array, if there is one; is at the list of metalayers.
    fn array_layer(&mut self) -> Result<Option<&'a [u8]>> {
        self.marker(0x93)?;
        self.u16(0xcd)?;
        let count = self.u16(0xde)?;
        if count > LAYERS_MAX {
            return Err(CodecError::corrupt(format!("a blosc2 frame with {count} metalayers")));
        }
        let mut found = None;
        for _ in 0..count {
            let [head] = self.take()?;
            let name = self.bytes.get(self.at..).and_then(|rest| rest.get(..usize::from(head & 0x1f)));
            self.at += usize::from(head & 0x1f);
            let offset = self.u32(0xd2)?;
            if matches!(name, Some(b"b2nd" | b"caterva")) {
                found = Some(offset as usize);
            }
        }
        let Some(offset) = found else { return Ok(None) };
        let mut content = Self { bytes: self.bytes, at: offset };
        let len = content.u32(0xc6)? as usize;
        let layer = content.bytes.get(content.at..).and_then(|rest| rest.get(..len));
        layer.map(Some).ok_or_else(|| CodecError::truncated("a metalayer of the blosc2 frame is cut"))
    }
}

/// The frame header's description of its single chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) level: u8,
    pub(crate) compressor: u8,
    pub(crate) filter: u8,
    pub(crate) typesize: u8,
    pub(crate) blocksize: usize,
}

/// The number of bytes of a frame in addition to its chunk.
pub(crate) fn around(grid: Option<&Grid>) -> usize {
    header_len(grid) + INDEX + TRAILER
}

/// The length of the header of a frame that holds `grid`.
pub(crate) fn header_len(grid: Option<&Grid>) -> usize {
    HEADER + grid.map_or(10, |grid| 25 + layer(grid).len())
}

/// Makes a frame out of the chunk of `stored` bytes (0 if all is zero) that is in `output` after room for the
/// header; returns its length. What is `decoded` may be nothing.
pub(crate) fn finish(
    output: &mut [u8],
    facts: Facts,
    grid: Option<&Grid>,
    decoded: usize,
    stored: usize,
) -> Result<usize> {
    let mut header = Vec::with_capacity(header_len(grid));
    let header_size = header_len(grid);
    let index = if decoded > 0 { index(stored == 0).to_vec() } else { Vec::new() };
    let frame_len = header_size + stored + index.len() + TRAILER;
    header.extend(b"\x9e\xa8b2frame\0\xd2");
    header.extend((header_size as u32).to_be_bytes());
    header.push(0xcf);
    header.extend((frame_len as u64).to_be_bytes());
    // Version 2 with offsets of 64 bits, chunks within, codec and level, the default splitting of C-Blosc2.
    header.extend([0xa4, 0x12, 0, facts.level << 4 | facts.compressor, 3]);
    for length in [decoded, stored] {
        header.push(0xd3);
        header.extend((length as u64).to_be_bytes());
    }
    for length in [usize::from(facts.typesize), facts.blocksize, decoded] {
        header.push(0xd2);
        header.extend((length as u32).to_be_bytes());
    }
    // Threads: none given to encode, 1 to decode; no metalayers in the trailer; six filters.
    header.extend([0xd1, 0, 0, 0xd1, 0, 1, 0xc2, 0xd8, 6]);
    let mut pipeline = [0; 16];
    (pipeline[5], pipeline[6]) = (facts.filter, facts.compressor);
    header.extend(pipeline);
    match grid {
        None => header.extend([0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0]),
        Some(grid) => {
            let layer = layer(grid);
            header.extend(b"\x93\xcd\0\x11\xde\0\x01\xa4b2nd\xd2");
            let offset = header.len() + 4 + 3;
            header.extend((offset as u32).to_be_bytes());
            header.extend([0xdc, 0, 1, 0xc6]);
            header.extend((layer.len() as u32).to_be_bytes());
            header.extend(layer);
        }
    }
    debug_assert_eq!(header.len(), header_size);
    let trailer = b"\x94\x01\x93\xcd\0\x06\xde\0\0\xdc\0\0\xce\0\0\0\x23\xd8\0";
    let full = || CodecError::output_full(Some(frame_len));
    let (front, rest) = output.split_at_mut_checked(header_size).ok_or_else(full)?;
    front.copy_from_slice(&header);
    let end = rest.get_mut(stored..stored + index.len() + TRAILER).ok_or_else(full)?;
    end.fill(0);
    end[..index.len()].copy_from_slice(&index);
    end[index.len()..index.len() + trailer.len()].copy_from_slice(trailer);
    Ok(frame_len)
}

/// The index of one chunk: a copy of one offset of 8 bytes.
fn index(is_zero: bool) -> [u8; INDEX] {
    let header = Header {
        typesize: 8,
        decoded: 8,
        blocksize: 8,
        encoded: INDEX,
        format: 0,
        is_split: false,
        is_copy: true,
        special: None,
        filters: [0, 0, 0, 0, 0, filter::BYTE_SHUFFLE],
        meta: [0; FILTERS],
        compressor: 0,
    };
    let mut index = [0; INDEX];
    index[..Header::LEN].copy_from_slice(&header.to_bytes());
    if is_zero {
        index[INDEX - 1] = ZEROS;
    }
    index
}

/// Makes the metalayer that describes an array of one chunk, with untyped elements.
fn layer(grid: &Grid) -> Vec<u8> {
    let rank = grid.shape.len() as u8;
    let mut layer = vec![0x97, 0, rank, 0x90 + rank];
    for &length in &grid.shape {
        layer.push(0xd3);
        layer.extend((length as u64).to_be_bytes());
    }
    for lengths in [&grid.chunk, &grid.block] {
        layer.push(0x90 + rank);
        for &length in lengths {
            layer.push(0xd2);
            layer.extend((length as u32).to_be_bytes());
        }
    }
    let dtype = format!("|V{}", grid.item);
    layer.extend([0, 0xdb]);
    layer.extend((dtype.len() as u32).to_be_bytes());
    layer.extend(dtype.as_bytes());
    layer
}
