use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Env, Repr, Result,
    params,
};
use serde_json::{Map, Value, json};

use crate::codec::{BitshuffleCoder, Compression};

/// The version of the bitshuffle library, the first working words of its filter.
const VERSION: [u32; 2] = [0, 4];
/// The words that are before those of a user, and all there can be.
const RESERVED: usize = 3;
const WORDS: usize = 6;
/// The numbers of LZ4 and Zstandard in the words.
const LZ4: u32 = 2;
const ZSTD: u32 = 3;
/// The default level of Zstandard.
const LEVEL: i32 = 3;

/// Configuration of the bitshuffle codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bitshuffle {
    /// The elements of a block, a multiple of 8; 0 for as many as have 8192 bytes, at least 128.
    pub blocksize: u32,
    /// The compression of the sorted bits.
    pub compression: Compression,
    /// The size of an element in bytes; `None` for that of the elements which enter the stage.
    pub itemsize: Option<u32>,
    /// The number of parameter words that were given, up to three. HDF5 stores that many, unless more are needed.
    pub words: usize,
}

impl Default for Bitshuffle {
    fn default() -> Self {
        Self { blocksize: 0, compression: Compression::None, itemsize: None, words: 0 }
    }
}

impl CodecConfig for Bitshuffle {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        Self::INFO.require_name(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let itemsize = reader.integer("itemsize", 1, 1..=i64::from(i32::MAX))? as u32;
        let blocksize = reader.integer("blocksize", 0, 0..=i64::from(i32::MAX))? as u32;
        reader.finish(notes)?;
        check_block("blocksize", blocksize)?;
        Ok(Self { blocksize, compression: Compression::None, itemsize: Some(itemsize), words: 0 })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        Self::INFO.require_name(dialect)?;
        if self.compression != Compression::None {
            return Err(CodecError::unsupported(
                "no JSON is known for bitshuffle with a compressor; blosc has both, or put the compressor after it",
            ));
        }
        // The numcodecs form of imagecodecs 2026.3 decodes with an element size of 1 in zarr-python, whatever the
        // configured size: ncz does not write data that would be silently misread.
        let itemsize = self.itemsize.ok_or_else(|| {
            CodecError::unsupported(
                "zarr-python misreads imagecodecs_bitshuffle, so it is only written on request",
            )
        })?;
        Ok(Map::from_iter([
            ("itemsize".into(), json!(itemsize)),
            ("blocksize".into(), json!(self.blocksize)),
        ]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("bitshuffle", words, 0, WORDS)?;
        // Words that HDF5 stored begin with the version and the size of an element.
        let stored = words.len() > RESERVED || matches!(words, &[0, 4, _]);
        let given = if stored { &words[RESERVED..] } else { words };
        let blocksize = params::word_or(given, 0, 0);
        check_block("cd_values[0]", blocksize)?;
        Ok(Self { blocksize, compression: compression(given)?, itemsize: None, words: given.len() })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let (compressor, level, needed) = match self.compression {
            Compression::None => (0, 0, usize::from(self.blocksize != 0)),
            Compression::Lz4 => (LZ4, 0, 2),
            Compression::Zstd { level } => (ZSTD, level, 3),
        };
        let mut words = vec![self.blocksize, compressor, level as u32];
        words.truncate(self.words.max(needed));
        Ok(words)
    }
}

impl Codec for Bitshuffle {
    const INFO: CodecInfo =
        CodecInfo::new("bitshuffle", "sorts the bits of the elements, and compresses them if asked to")
            .filter_id(32008)
            .numcodecs(&["imagecodecs_bitshuffle"])
            .working_params()
            .lossless();

    type Coder = BitshuffleCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let entering = input.element_size(env)?;
        let entering = u32::try_from(entering).map_err(|_| {
            CodecError::unsupported(format!("elements of {entering} bytes are too large for bitshuffle"))
        })?;
        let size = match (self.itemsize, env.container) {
            (None, _) => entering,
            // The filter sets the size of the type.
            (Some(_), Container::Hdf5) => entering,
            (Some(stored), _) if stored != entering => {
                return Err(CodecError::config(
                    "itemsize",
                    format!(
                        "it is {stored}, but the elements have {entering} bytes: zarr-python with imagecodecs writes with \
                         the size of the elements; give itemsize {entering} if that was the writer"
                    ),
                ));
            }
            (Some(stored), _) => stored,
        };
        let coder = BitshuffleCoder::new(size as usize, self.blocksize as usize, self.compression);
        if coder.block_bytes().is_none_or(|bytes| u32::try_from(bytes).is_err()) {
            return Err(CodecError::config(
                "blocksize",
                format!("blocks of {} elements of {size} bytes have 4 GiB or more", self.blocksize),
            ));
        }
        let mut working = vec![VERSION[0], VERSION[1], size];
        working.extend(self.to_params()?);
        if self.compression == Compression::None {
            return Ok(Bound { stored: *self, working, output: Repr::Bytes { size: input.size()? }, coder });
        }
        Bound::bytes(*self, working, coder, input)
    }

    fn coder(working: &[u32]) -> Result<BitshuffleCoder> {
        let (&size, given) = match working {
            [_, _, size, given @ ..] if *size > 0 => (size, given),
            _ => {
                return Err(CodecError::config(
                    "cd_values",
                    "bitshuffle needs the size of an element in the third word",
                ));
            }
        };
        let block = params::word_or(given, 0, 0);
        check_block("cd_values[3]", block)?;
        Ok(BitshuffleCoder::new(size as usize, block as usize, compression(given)?))
    }
}

/// Returns the compression that the user's words select.
fn compression(given: &[u32]) -> Result<Compression> {
    match params::word_or(given, 1, 0) {
        0 => Ok(Compression::None),
        LZ4 => Ok(Compression::Lz4),
        ZSTD => Ok(Compression::Zstd { level: params::word_or(given, 2, LEVEL as u32) as i32 }),
        other => Err(CodecError::config(
            "cd_values[1]",
            format!("compressor {other} is none of 0 (none), 2 (LZ4), 3 (Zstandard)"),
        )),
    }
}

fn check_block(key: &'static str, block: u32) -> Result<()> {
    if block.is_multiple_of(8) {
        return Ok(());
    }
    Err(CodecError::config(key, format!("a block of {block} elements is not a multiple of 8")))
}
