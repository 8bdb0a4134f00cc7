//! A codec for tests: run lengths, with switches for everything a codec can do wrong.
#![allow(clippy::panic, reason = "misbehaves on request; other programs than tests include it")]

use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size,
    params,
};
use serde_json::{Map, Value};

/// Runs of equal bytes as pairs of count and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rle {
    pub(crate) mode: Mode,
    pub(crate) element_size: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The stream does not state its length.
    Silent = 0,
    /// The stream starts with the decoded length in 8 bytes.
    Stated = 1,
    /// Panics.
    Panics = 2,
    /// Reports more bytes written than the buffer holds.
    Claims = 3,
    /// Panics with a payload whose destructor panics.
    PanicsTwice = 4,
}

#[derive(Debug)]
pub(crate) struct RleCoder {
    mode: Mode,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("and again");
    }
}

impl Rle {
    fn new(mode: i64, element_size: i64) -> Result<Self> {
        let mode = match mode {
            0 => Mode::Silent,
            1 => Mode::Stated,
            2 => Mode::Panics,
            3 => Mode::Claims,
            4 => Mode::PanicsTwice,
            _ => return Err(CodecError::config("mode", "0 to 4")),
        };
        Ok(Self { mode, element_size: element_size as u32 })
    }
}

impl CodecConfig for Rle {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let mode = reader.integer("mode", 0, 0..=4)?;
        let element_size = reader.integer("elementsize", 0, 0..=255)?;
        reader.finish(notes)?;
        Self::new(mode, element_size)
    }

    fn to_json(&self, _: Dialect) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        map.insert("mode".to_owned(), (self.mode as u32).into());
        map.insert("elementsize".to_owned(), self.element_size.into());
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("rle", words, 0, 2)?;
        Self::new(params::word_or(words, 0, 0).into(), params::word_or(words, 1, 0).into())
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.mode as u32, self.element_size])
    }
}

impl Codec for Rle {
    const INFO: CodecInfo = CodecInfo::new("rle", "runs of equal bytes")
        .filter_id(40100)
        .numcodecs(&["rle", "runs"])
        .zarr_v3(&["test.rle"])
        .working_params()
        .lossless();

    type Coder = RleCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let stored = Self { mode: self.mode, element_size: input.element_size(env)? as u32 };
        let most = input.size()?.bound().map(|len| 2 * len + 8);
        Ok(Bound {
            working: stored.to_params()?,
            output: Repr::Bytes { size: most.map_or(Size::Unknown, Size::AtMost) },
            coder: RleCoder { mode: self.mode },
            stored,
        })
    }

    fn coder(working: &[u32]) -> Result<RleCoder> {
        Ok(RleCoder { mode: Self::from_params(working)?.mode })
    }
}

impl Coder for RleCoder {
    type Scratch = Vec<u8>;

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_mul(2)?.checked_add(8)
    }

    fn encode(&self, scratch: &mut Vec<u8>, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.misbehave(output.len()).map_or(Ok(()), Err)?;
        scratch.clear();
        if self.mode == Mode::Stated {
            scratch.extend((input.len() as u64).to_le_bytes());
        }
        for run in input.chunk_by(|a, b| a == b) {
            for part in run.chunks(255) {
                scratch.extend([part.len() as u8, part[0]]);
            }
        }
        output[..scratch.len()].copy_from_slice(scratch);
        Ok(scratch.len() + if self.mode == Mode::Claims { output.len() } else { 0 })
    }

    fn decode(&self, _: &mut Vec<u8>, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.misbehave(output.len()).map_or(Ok(()), Err)?;
        let (stated, runs) = match self.decoded_len(input)? {
            Some(len) => (Some(len), &input[8..]),
            None => (None, input),
        };
        let mut at = 0;
        for run in runs.chunks(2) {
            let &[count, value] = run else { return Err(CodecError::truncated("half a run")) };
            let end = at + usize::from(count);
            output.get_mut(at..end).ok_or_else(|| CodecError::output_full(None))?.fill(value);
            at = end;
        }
        if let Some(want) = stated.filter(|&want| want != at) {
            return Err(CodecError::size(want, at, "runs"));
        }
        Ok(at + if self.mode == Mode::Claims { output.len() } else { 0 })
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        if self.mode != Mode::Stated {
            return Ok(None);
        }
        let head = input.first_chunk().ok_or_else(|| CodecError::truncated("no length"))?;
        Ok(Some(u64::from_le_bytes(*head) as usize))
    }
}

impl RleCoder {
    fn misbehave(&self, _: usize) -> Option<CodecError> {
        match self.mode {
            Mode::Panics => panic!("the test wants it"),
            Mode::PanicsTwice => std::panic::panic_any(Bomb),
            _ => None,
        }
    }
}
