use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Env, Repr, Result,
    Size, params, repr,
};
use serde_json::{Map, Value, json};

use crate::codec::{BloscCoder, too_long};
use crate::compressor::Compressor;
use crate::ffi::{Filter, Settings};
use crate::header::Header;

/// The HDF5 filter's revision, its first working word.
const FILTER_REVISION: u32 = 2;
/// Larger elements are treated as single bytes, as in c-blosc and its HDF5 filter.
const MAX_TYPESIZE: usize = 255;
/// The words that HDF5 always gets, and all there can be.
const RESERVED: usize = 4;
const WORDS: usize = 7;

/// Configuration of the blosc codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blosc {
    /// The compressor after the shuffle.
    pub cname: Compressor,
    /// The compression level: 0 (copy) to 9.
    pub clevel: u32,
    /// The shuffle that is applied before compression.
    pub shuffle: Shuffle,
    /// The size of a block in bytes; 0 lets the library choose.
    pub blocksize: u32,
    /// The size of an element in bytes as Zarr v3 stores it; `None` for that of the elements which enter the stage.
    pub typesize: Option<u32>,
    /// The number of parameter words that were given, up to seven. HDF5 stores that many, but at least four.
    pub words: usize,
}

/// The shuffle that is applied before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// By bits for elements of one byte, by bytes for others.
    Auto,
    /// Not at all.
    None,
    /// The first bytes of all elements, then the second bytes, and so on.
    Byte,
    /// The first bits of all elements, then the second bits, and so on.
    Bit,
}

impl Default for Blosc {
    fn default() -> Self {
        Self {
            cname: Compressor::Lz4,
            clevel: 5,
            shuffle: Shuffle::Byte,
            blocksize: 0,
            typesize: None,
            words: WORDS,
        }
    }
}

impl CodecConfig for Blosc {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let cname = Compressor::named(reader.text("cname", Compressor::Lz4.name())?)?;
        let clevel = reader.integer("clevel", 5, 0..=9)? as u32;
        let (shuffle, typesize) = match dialect {
            Dialect::Numcodecs => {
                // Some versions of numcodecs let the size slip into metadata; it is the array's all the same.
                reader.raw("typesize");
                (shuffle_number(&mut reader, notes)?, None)
            }
            Dialect::ZarrV3 => {
                let shuffle = match reader.raw("shuffle") {
                    Some(_) => Shuffle::named(reader.text("shuffle", "")?)?,
                    None => Shuffle::Auto,
                };
                let typesize = reader.integer("typesize", 0, 1..=i64::from(i32::MAX))? as u32;
                (shuffle, (typesize > 0).then_some(typesize))
            }
        };
        let blocksize = reader.integer("blocksize", 0, 0..=i64::from(i32::MAX))? as u32;
        reader.finish(notes)?;
        if dialect == Dialect::ZarrV3 && shuffle != Shuffle::None && typesize.is_none() {
            notes.push("typesize is missing; that of the elements is used".into());
        }
        Ok(Self { cname, clevel, shuffle, blocksize, typesize, words: WORDS })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        map.insert("cname".into(), json!(self.cname.name()));
        map.insert("clevel".into(), json!(self.clevel));
        match dialect {
            Dialect::Numcodecs => {
                map.insert("shuffle".into(), json!(self.shuffle.number()));
            }
            Dialect::ZarrV3 => {
                let shuffle = match (self.shuffle, self.typesize) {
                    (Shuffle::None, _) => Shuffle::None,
                    (shuffle, Some(typesize)) => shuffle.for_elements(typesize as usize),
                    (_, None) => {
                        return Err(CodecError::config(
                            "typesize",
                            "Zarr v3 requires the size of an element here; it is filled in when the variable is known",
                        ));
                    }
                };
                map.insert("shuffle".into(), json!(shuffle.name()));
                if let Some(typesize) = self.typesize {
                    map.insert("typesize".into(), json!(typesize));
                }
            }
        }
        map.insert("blocksize".into(), json!(self.blocksize));
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("blosc", words, 0, WORDS)?;
        // In words that HDF5 stored, the user's block size is replaced by the size of a chunk.
        let stored = words.iter().take(3).any(|&word| word != 0);
        let blocksize = if stored { 0 } else { params::word_or(words, 3, 0) };
        if blocksize > i32::MAX as u32 {
            return Err(CodecError::config(
                "cd_values[3]",
                format!("block size {blocksize} is over {}", i32::MAX),
            ));
        }
        Ok(Self {
            cname: Compressor::numbered(params::word_or(words, 6, Compressor::BloscLz as u32))?,
            clevel: level(params::word_or(words, 4, 5))?,
            shuffle: Shuffle::numbered(params::word_or(words, 5, 1))?,
            blocksize,
            typesize: None,
            words: words.len(),
        })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![
            0,
            0,
            0,
            self.blocksize,
            level(self.clevel)?,
            self.shuffle.number() as u32,
            self.cname as u32,
        ])
    }
}

impl Codec for Blosc {
    const INFO: CodecInfo = CodecInfo::new("blosc", "shuffling and fast compression in one")
        .filter_id(32001)
        .numcodecs(&["blosc"])
        .zarr_v3(&["blosc"])
        .working_params()
        .lossless();

    type Coder = BloscCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let element = match (self.typesize, env.container) {
            (Some(stored), Container::ZarrV3) => stored as usize,
            _ => input.element_size(env)?,
        };
        let typesize = typesize(element);
        let size = input.size()?;
        let chunk = match (env.container, size) {
            (Container::Hdf5, _) | (_, Size::Unknown) => repr::byte_len(&env.chunk_shape, env.dtype.size)?,
            (_, Size::Exact(len) | Size::AtMost(len)) => len,
        };
        // Of bytes that may be fewer only those that are too many are refused, when they come.
        let certain = match size {
            Size::Exact(len) => chunk.max(len),
            Size::AtMost(_) => 0,
            Size::Unknown => chunk,
        };
        if certain > Header::MAX_DECODED {
            return Err(too_long(certain));
        }
        let chunk = chunk.min(Header::MAX_DECODED);
        let shuffle = self.shuffle.for_elements(typesize);
        let stored = Self {
            shuffle,
            typesize: match env.container {
                // tensorstore takes no larger ones than c-blosc does.
                Container::ZarrV3 => Some(typesize as u32),
                _ => self.typesize,
            },
            ..*self
        };
        let mut working = stored.to_params()?;
        working[..RESERVED].copy_from_slice(&[
            FILTER_REVISION,
            u32::from(Header::VERSION),
            typesize as u32,
            chunk as u32,
        ]);
        let mut blocksize = self.blocksize;
        if env.container == Container::Hdf5 {
            working.truncate(self.words.max(RESERVED));
            // The word of the block size went to the size of the chunk.
            blocksize = 0;
        }
        let settings = Settings {
            level: self.clevel,
            filter: shuffle.filter(typesize),
            typesize,
            blocksize: blocksize as usize,
        };
        let most = |len: usize| Size::AtMost(len.min(Header::MAX_DECODED) + Header::LEN);
        let output = Repr::Bytes { size: size.bound().map_or(Size::Unknown, most) };
        Ok(Bound { stored, working, output, coder: BloscCoder::new(Ok((self.cname, settings))) })
    }

    fn coder(working: &[u32]) -> Result<BloscCoder> {
        // Frames describe how to decode them, so the words in a file must not prevent that.
        Ok(BloscCoder::new(encoding(working)))
    }
}

impl Shuffle {
    /// The one that is meant for elements of `size` bytes.
    fn for_elements(self, size: usize) -> Self {
        match (self, size) {
            (Self::Auto, 1) => Self::Bit,
            (Self::Auto, _) => Self::Byte,
            (other, _) => other,
        }
    }

    fn filter(self, typesize: usize) -> Filter {
        match self.for_elements(typesize) {
            Self::None => Filter::None,
            Self::Bit => Filter::Bit,
            Self::Byte | Self::Auto => Filter::Byte,
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::Auto => -1,
            Self::None => 0,
            Self::Byte => 1,
            Self::Bit => 2,
        }
    }

    fn numbered(number: u32) -> Result<Self> {
        match number as i32 {
            -1 => Ok(Self::Auto),
            0 => Ok(Self::None),
            1 => Ok(Self::Byte),
            2 => Ok(Self::Bit),
            _ => Err(CodecError::config("cd_values[5]", format!("shuffle {number} is not within 0 to 2"))),
        }
    }

    /// Its name in Zarr v3; `Auto` has none.
    fn name(self) -> &'static str {
        match self {
            Self::None => "noshuffle",
            Self::Byte | Self::Auto => "shuffle",
            Self::Bit => "bitshuffle",
        }
    }

    fn named(name: &str) -> Result<Self> {
        match name {
            "noshuffle" => Ok(Self::None),
            "shuffle" => Ok(Self::Byte),
            "bitshuffle" => Ok(Self::Bit),
            other => Err(CodecError::config(
                "shuffle",
                format!("{other:?} is none of noshuffle, shuffle, bitshuffle"),
            )),
        }
    }
}

/// The number at `shuffle`, also as the unsigned word of -1 that netcdf-c prints.
fn shuffle_number(reader: &mut ConfigReader<'_>, notes: &mut Vec<String>) -> Result<Shuffle> {
    let number = reader.integer("shuffle", 1, -1..=i64::from(u32::MAX))?;
    if number == i64::from(u32::MAX) {
        notes.push(format!("shuffle {number} interpreted as signed -1"));
    }
    Shuffle::numbered(number as u32)
        .map_err(|_| CodecError::config("shuffle", format!("{number} is not within -1 to 2")))
}

fn level(level: u32) -> Result<u32> {
    match level {
        0..=9 => Ok(level),
        other => Err(CodecError::config("clevel", format!("{other} is not within 0 to 9"))),
    }
}

fn typesize(element: usize) -> usize {
    if (1..=MAX_TYPESIZE).contains(&element) { element } else { 1 }
}

/// Makes the encoder from working words.
fn encoding(working: &[u32]) -> Result<(Compressor, Settings)> {
    if !(RESERVED..=WORDS).contains(&working.len()) || working[2] == 0 {
        return Err(CodecError::config(
            "cd_values",
            "blosc needs the size of an element in the third word to encode",
        ));
    }
    let blosc = Blosc::from_params(working)?;
    let typesize = typesize(working[2] as usize);
    let filter = blosc.shuffle.filter(typesize);
    Ok((blosc.cname, Settings { level: blosc.clevel, filter, typesize, blocksize: 0 }))
}
