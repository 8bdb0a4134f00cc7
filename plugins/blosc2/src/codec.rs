use std::fmt;

use ncz_codec::{CodecError, Coder, Result};

use crate::chunk::{self, Buffers, Settings, Source, compressor};
use crate::frame::{self, Facts, Frame, Place};
use crate::grid::Grid;
use crate::header::Header;

/// Encodes and decodes Blosc2 frames.
#[derive(Debug, Clone)]
pub struct Blosc2Coder {
    /// The encoder, or the reason why encoding is not possible.
    encoding: Result<Encoding>,
    /// The lengths of a chunk of the array, if the parameters state them.
    shape: Option<Vec<usize>>,
}

/// The settings of the encoder.
#[derive(Debug, Clone)]
pub(crate) struct Encoding {
    pub(crate) settings: Settings,
    /// The size of a block in bytes; 0 for what C-Blosc2 takes.
    pub(crate) blocksize: usize,
    /// The division of a whole chunk into blocks; other lengths are divided as bytes.
    pub(crate) grid: Option<Grid>,
}

/// Buffers and contexts of one thread.
#[derive(Default)]
pub struct Blosc2Scratch {
    buffers: Buffers,
    block: Vec<u8>,
}

impl Blosc2Coder {
    pub(crate) fn new(encoding: Result<Encoding>, shape: Option<Vec<usize>>) -> Self {
        Self { encoding, shape }
    }

    /// Whether data can be encoded with these parameters.
    pub(crate) fn can_encode(&self) -> Result<()> {
        self.encoding.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The blocks of data of `len` bytes, if they are a whole chunk of several dimensions.
    fn grid(&self, len: usize) -> Option<&Grid> {
        let grid = self.encoding.as_ref().ok()?.grid.as_ref();
        grid.filter(|grid| grid.len() == Some(len))
    }

    /// The bytes that are encoded for `len`: blocks at the edges are filled up.
    fn filled(&self, len: usize) -> Option<usize> {
        let filled = match self.grid(len) {
            Some(grid) => grid.chunk_len()?,
            None => len,
        };
        (filled <= Header::MAX_DECODED).then_some(filled)
    }

    /// Refuses an array of another shape than the chunk's, as HDF5's filter does.
    fn check_shape(&self, frame: &Frame<'_>) -> Result<()> {
        match (&self.shape, &frame.grid) {
            (Some(wanted), Some(grid)) if *wanted != grid.shape => Err(CodecError::corrupt(format!(
                "the blosc2 frame holds an array of shape {:?}, the chunk's is {wanted:?}",
                grid.shape
            ))),
            _ => Ok(()),
        }
    }
}

impl Coder for Blosc2Coder {
    type Scratch = Blosc2Scratch;

    fn scratch(&self) -> Blosc2Scratch {
        Blosc2Scratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        self.filled(len).map(|filled| filled + Header::LEN + frame::around(self.grid(len)))
    }

    fn encode(&self, scratch: &mut Blosc2Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let Encoding { settings, blocksize, .. } = self.encoding.as_ref().map_err(Clone::clone)?;
        let grid = self.grid(input.len());
        let filled = self.filled(input.len()).ok_or_else(|| too_long(input.len()))?;
        let blocksize = match grid {
            Some(grid) => grid.block_len().ok_or_else(|| too_long(input.len()))?,
            None => block_len(settings, *blocksize, filled),
        };
        let facts = Facts {
            level: settings.level,
            compressor: settings.compressor,
            filter: settings.filter,
            typesize: settings.typesize,
            blocksize,
        };
        let front = frame::header_len(grid);
        let room = output
            .get_mut(front..)
            .ok_or_else(|| CodecError::output_full(self.max_encoded_len(input.len())))?;
        let source = match grid {
            Some(grid) => Source::Array(grid, input),
            None => Source::Bytes(input),
        };
        let stored = match filled {
            0 => 0,
            _ => chunk::encode(&mut scratch.buffers, settings, source, filled, blocksize, room)?,
        };
        frame::finish(output, facts, grid, filled, stored)
    }

    fn decode(&self, scratch: &mut Blosc2Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let frame = Frame::parse(input)?;
        self.check_shape(&frame)?;
        let output =
            output.get_mut(..frame.decoded).ok_or_else(|| CodecError::output_full(Some(frame.decoded)))?;
        let Blosc2Scratch { buffers, block } = scratch;
        let places = frame.places(buffers)?;
        let Some(grid) = &frame.grid else {
            for place in places {
                match place {
                    Place::Stored(chunk) => chunk.decode(buffers, output)?,
                    Place::Zeros => output.fill(0),
                    Place::NaNs => fill_nans(frame.type_size, output)?,
                }
            }
            return Ok(frame.decoded);
        };
        let damaged = || CodecError::corrupt("the blocks of the blosc2 frame are of absurd lengths");
        let blocksize = grid.block_len().ok_or_else(damaged)?;
        for (number, place) in places.iter().enumerate() {
            block.resize(blocksize, 0);
            for part in grid.blocks_within(number) {
                match place {
                    Place::Stored(chunk) => chunk.decode_block(buffers, part, block)?,
                    Place::Zeros => block.fill(0),
                    Place::NaNs => fill_nans(grid.item, block)?,
                }
                grid.scatter(number, part, block, output);
            }
        }
        Ok(frame.decoded)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Frame::parse(input).map(|frame| Some(frame.decoded))
    }
}

impl fmt::Debug for Blosc2Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blosc2Scratch").finish_non_exhaustive()
    }
}

fn fill_nans(item: usize, block: &mut [u8]) -> Result<()> {
    match item {
        4 | 8 if !block.len().is_multiple_of(item) => {
            return Err(CodecError::corrupt("a blosc2 chunk of NaNs that do not fill it"));
        }
        4 => block.as_chunks_mut::<4>().0.fill(f32::NAN.to_le_bytes()),
        8 => block.as_chunks_mut::<8>().0.fill(f64::NAN.to_le_bytes()),
        other => return Err(CodecError::corrupt(format!("a blosc2 chunk of NaNs of {other} bytes"))),
    }
    Ok(())
}

/// Returns the block size that C-Blosc2 chooses for `len` bytes, to fit the processor's caches; `wanted` is 0 or
/// the user's block size (c-blosc2, stune.c).
pub(crate) fn block_len(settings: &Settings, wanted: usize, len: usize) -> usize {
    const KIB: usize = 1 << 10;
    let typesize = usize::from(settings.typesize);
    if len < typesize {
        return 1.max(len);
    }
    // C-Blosc2 writes longer ones, but does not read them.
    let mut blocksize = wanted.min(Header::MAX_BLOCK);
    if wanted == 0 {
        blocksize = len;
        if len >= 32 * KIB {
            let strong = !matches!(settings.compressor, compressor::BLOSCLZ | compressor::LZ4);
            blocksize = match settings.level {
                0 => 8,
                1 => 16,
                2 => 32,
                3 => 64,
                4 | 5 => 128,
                9 if strong => 512,
                _ => 256,
            } * KIB;
            if strong {
                blocksize *= 2;
            }
        }
        if settings.level > 0 && chunk::is_split(settings, blocksize / typesize * typesize) {
            let stream = match settings.level {
                1..=3 => 32,
                4..=6 => 64,
                7 => 128,
                8 => 256,
                _ => 512,
            };
            blocksize = (stream * KIB * typesize).min(4096 * KIB);
        }
    }
    blocksize = blocksize.min(len);
    if blocksize > typesize { blocksize / typesize * typesize } else { blocksize.max(1) }
}

/// The lengths of a block of several dimensions that has at most `most` bytes, if two elements along each dimension do:
/// lengths are doubled, the innermost first, while that is so.
pub(crate) fn block_shape(chunk: &[usize], item: usize, most: usize) -> Vec<usize> {
    let most = most / item;
    let mut block: Vec<usize> = chunk.iter().map(|&len| len.min(2)).collect();
    let mut elements: usize = block.iter().product();
    loop {
        let before = elements;
        for (len, &limit) in block.iter_mut().zip(chunk).rev() {
            let longer = (2 * *len).min(limit);
            let grown = elements / *len * longer;
            if longer > *len && grown <= most {
                (*len, elements) = (longer, grown);
            }
        }
        if elements == before {
            return block;
        }
    }
}

pub(crate) fn too_long(len: usize) -> CodecError {
    CodecError::unsupported(format!(
        "{len} bytes are more than a blosc2 frame holds in one chunk ({}); take smaller chunks",
        Header::MAX_DECODED
    ))
}
