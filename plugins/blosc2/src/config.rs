use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Container, Dialect, Env, Repr, Result, Size,
    params, repr,
};
use serde_json::{Map, Value};

use crate::chunk::{Settings, compressor};
use crate::codec::{Blosc2Coder, Encoding, block_len, block_shape, too_long};
use crate::grid::{Grid, RANK_MAX};
use crate::header::{Header, filter};

/// The HDF5 filter's revision, its first working word.
const FILTER_REVISION: u32 = 1;
/// Larger elements are treated as single bytes.
const MAX_TYPESIZE: usize = 255;
/// The words that HDF5 always gets, and those that a user gives.
const RESERVED: usize = 4;
const WORDS: usize = 7;

/// Configuration of the blosc2 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blosc2 {
    /// The compressor after the filter.
    pub cname: Compressor,
    /// The compression level: 0 (copy) to 9.
    pub clevel: u8,
    /// The shuffle that is applied before compression.
    pub filter: Filter,
    /// The size of a block in bytes; 0 lets the codec choose.
    pub blocksize: u32,
    /// The number of parameter words that were given, up to seven. HDF5 stores that many for chunks of one dimension,
    /// if there are six or more.
    pub words: usize,
}

/// The compressors of Blosc2. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// Blosc's own, close to FastLZ.
    BloscLz = 0,
    /// LZ4, the fastest.
    Lz4 = 1,
    /// LZ4 that searches longer.
    Lz4Hc = 2,
    /// Zlib.
    Zlib = 4,
    /// Zstd, the strongest.
    Zstd = 5,
}

/// The shuffle that is applied before compression. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Not at all.
    None = 0,
    /// The first bytes of all elements, then the second bytes, and so on.
    Shuffle = 1,
    /// The first bits of all elements, then the second bits, and so on.
    BitShuffle = 2,
    /// The difference to the first block of the chunk.
    Delta = 3,
}

impl Default for Blosc2 {
    fn default() -> Self {
        Self { cname: Compressor::BloscLz, clevel: 5, filter: Filter::Shuffle, blocksize: 0, words: WORDS }
    }
}

impl CodecConfig for Blosc2 {
    fn from_json(_dialect: Dialect, _config: &Map<String, Value>, _notes: &mut Vec<String>) -> Result<Self> {
        Err(no_json())
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Err(no_json())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        // The following words were stored: the number of dimensions and their lengths, which are those of that dataset.
        params::check_count("blosc2", words, 0, WORDS + 1 + RANK_MAX)?;
        let blocksize = params::word_or(words, 1, 0);
        if blocksize > i32::MAX as u32 {
            return Err(CodecError::config(
                "cd_values[1]",
                format!("block size {blocksize} is over {}", i32::MAX),
            ));
        }
        let clevel = match params::word_or(words, 4, 5) {
            level @ 0..=9 => level as u8,
            other => {
                return Err(CodecError::config(
                    "cd_values[4]",
                    format!("level {other} is not within 0 to 9"),
                ));
            }
        };
        Ok(Self {
            cname: Compressor::numbered(params::word_or(words, 6, Compressor::BloscLz as u32))?,
            clevel,
            filter: Filter::numbered(params::word_or(words, 5, Filter::Shuffle as u32))?,
            blocksize,
            words: words.len().min(WORDS),
        })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        if self.clevel > 9 {
            return Err(CodecError::config("clevel", format!("{} is not within 0 to 9", self.clevel)));
        }
        Ok(vec![0, self.blocksize, 0, 0, self.clevel.into(), self.filter as u32, self.cname as u32])
    }
}

impl Codec for Blosc2 {
    const INFO: CodecInfo =
        CodecInfo::new("blosc2", "shuffling and fast compression in blocks of several dimensions")
            .filter_id(32026)
            .working_params()
            .lossless();

    type Coder = Blosc2Coder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let mut working = self.to_params()?;
        let item = input.element_size(env)?;
        // HDF5 uses only the type of the variable, even if earlier filters changed its chunks.
        let (shape, size) = match input {
            Repr::Array { shape, dtype, .. } if env.container != Container::Hdf5 => {
                (shape, repr::byte_len(shape, dtype.size)?)
            }
            _ => (&env.chunk_shape, repr::byte_len(&env.chunk_shape, env.dtype.size)?),
        };
        if size > Header::MAX_DECODED {
            return Err(too_long(size));
        }
        let word = |value: usize| u32::try_from(value).map_err(|_| too_long(size));
        working[0] = FILTER_REVISION;
        (working[2], working[3]) = (word(item)?, size as u32);
        if (2..=RANK_MAX).contains(&shape.len()) {
            working.push(shape.len() as u32);
            for &len in shape {
                working.push(word(len as usize)?);
            }
        } else if self.words == WORDS - 1 && env.container == Container::Hdf5 {
            // The compressor was left to its default, and stays so. With still fewer words C-Blosc2's filter does
            // not encode what it stored itself.
            working.truncate(self.words);
        }
        let coder = Self::coder(&working)?;
        coder.can_encode()?;
        let most = |len: usize| coder.max_encoded_len(len).ok_or_else(|| too_long(len));
        let size = match input.size()? {
            Size::Exact(len) => Size::AtMost(most(len)?),
            // Shorter data may be filled up to longer blocks than longer ones.
            Size::AtMost(len) => Size::AtMost(most(size)?.max(most(len.min(Header::MAX_DECODED))?)),
            Size::Unknown => Size::Unknown,
        };
        Ok(Bound { stored: *self, working, output: Repr::Bytes { size }, coder })
    }

    fn coder(working: &[u32]) -> Result<Blosc2Coder> {
        // Frames describe how to decode them, so the words in a file must not prevent that, but the shape of an
        // array must be the chunk's.
        let shape = match working.get(WORDS..) {
            Some([rank, shape @ ..]) if *rank >= 2 && *rank as usize == shape.len() => {
                Some(shape.iter().map(|&len| len as usize).collect())
            }
            _ => None,
        };
        Ok(Blosc2Coder::new(encoding(working, shape.as_deref()), shape))
    }
}

impl Compressor {
    fn numbered(number: u32) -> Result<Self> {
        const ALL: [Compressor; 5] =
            [Compressor::BloscLz, Compressor::Lz4, Compressor::Lz4Hc, Compressor::Zlib, Compressor::Zstd];
        ALL.into_iter().find(|&compressor| compressor as u32 == number).ok_or_else(|| {
            CodecError::config(
                "cd_values[6]",
                format!("compressor {number} is none of 0 blosclz, 1 lz4, 2 lz4hc, 4 zlib, 5 zstd"),
            )
        })
    }
}

impl Filter {
    fn numbered(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Shuffle),
            2 => Ok(Self::BitShuffle),
            3 => Ok(Self::Delta),
            4 => Err(CodecError::config(
                "cd_values[5]",
                "filter 4 of blosc2 (TRUNC_PREC) cannot be used: HDF5 has no parameter word for the number of digits to keep; use bitround",
            )),
            other => Err(CodecError::config(
                "cd_values[5]",
                format!("filter {other} is none of 0 none, 1 shuffle, 2 bitshuffle, 3 delta"),
            )),
        }
    }
}

/// Makes the encoder from working words.
fn encoding(working: &[u32], shape: Option<&[usize]>) -> Result<Encoding> {
    let item = params::word_or(working, 2, 0) as usize;
    if working.len() < RESERVED || item == 0 {
        return Err(CodecError::config(
            "cd_values",
            "blosc2 needs the size of an element in the third word to encode",
        ));
    }
    let config = Blosc2::from_params(working)?;
    let typesize = u8::try_from(item).unwrap_or(1);
    let settings = Settings {
        level: config.clevel,
        filter: match config.filter {
            Filter::None => filter::NONE,
            Filter::Shuffle => filter::BYTE_SHUFFLE,
            Filter::BitShuffle => filter::BIT_SHUFFLE,
            Filter::Delta => filter::DELTA,
        },
        compressor: match config.cname {
            Compressor::BloscLz => compressor::BLOSCLZ,
            Compressor::Lz4 => compressor::LZ4,
            Compressor::Lz4Hc => compressor::LZ4HC,
            Compressor::Zlib => compressor::ZLIB,
            Compressor::Zstd => compressor::ZSTD,
        },
        typesize,
    };
    let blocksize = config.blocksize as usize;
    // C-Blosc2 does not read arrays of elements that it takes for single bytes.
    let shape = shape.filter(|shape| {
        item <= MAX_TYPESIZE && shape.iter().all(|&len| (1..=i32::MAX as usize).contains(&len))
    });
    let grid = shape.and_then(|shape| {
        let len = repr::byte_len(&shape.iter().map(|&len| len as u64).collect::<Vec<_>>(), item).ok()?;
        // The block size is chosen for shuffled bytes, with any filter.
        let aim = match blocksize {
            0 => block_len(&Settings { filter: filter::BYTE_SHUFFLE, ..settings }, 0, len),
            wanted => wanted.min(Header::MAX_BLOCK),
        };
        let block = block_shape(shape, item, aim);
        let grid = Grid { item, shape: shape.to_vec(), chunk: shape.to_vec(), block };
        // Many dimensions of three elements are filled up to twice as much.
        (grid.chunk_len()? <= Header::MAX_DECODED).then_some(grid)
    });
    Ok(Encoding { settings, blocksize, grid })
}

fn no_json() -> CodecError {
    CodecError::unsupported("blosc2 has no name in JSON, only its HDF5 filter number 32026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_is_longer_than_c_blosc2_reads() {
        let words = [1, i32::MAX as u32, 8, 1 << 30, 5, 1, 1];
        let bytes = encoding(&words, None).unwrap();
        assert_eq!(block_len(&bytes.settings, bytes.blocksize, 1 << 30), Header::MAX_BLOCK);
        let array = encoding(&words, Some(&[1 << 10, 1 << 17])).unwrap();
        assert_eq!(array.grid.unwrap().block_len(), Some(1 << 28));
    }
}
