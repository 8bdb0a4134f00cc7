//! A complete plugin in one file: the worked example of the book (`host/docs/src/plugin-guide.md`).
//!
//! `sparse` stores a bit for each element, and then only the elements that are not zero: for rain, masks and counts.
//!
//! A stream is the length of the data in 8 bytes, low byte first; a bit for each whole element, the first in the lowest
//! bit, 1 if the element follows; these elements; the bytes after the last whole element.

use ncz_codec::{Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Env, Repr, Result};

/// The bytes of the length that begins a stream.
const HEAD: usize = 8;

/// The configuration: keys in JSON, and parameters in HDF5.
#[derive(Debug, Clone, CodecConfig)]
struct Sparse {
    /// The size of an element in bytes; if it is not given, that of the variable.
    #[codec(range = 1..=65_536)]
    elementsize: Option<u32>,
}

impl Codec for Sparse {
    const INFO: CodecInfo = CodecInfo::new("sparse", "stores the elements that are not zero")
        .filter_id(32803)
        .numcodecs(&["example.sparse"])
        .zarr_v3(&["example.sparse"])
        .working_params()
        .lossless();

    type Coder = SparseCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let size = match self.elementsize {
            Some(size) => size,
            None => u32::try_from(input.element_size(env)?).unwrap_or(u32::MAX),
        };
        let stored = Self { elementsize: Some(size) };
        let working = stored.to_params()?;
        let coder = Self::coder(&working)?;
        Bound::bytes(stored, working, coder, input)
    }

    fn coder(working: &[u32]) -> Result<SparseCoder> {
        let missing = || CodecError::config("elementsize", "expected the size of an element in bytes");
        let size = Self::from_params(working)?.elementsize.ok_or_else(missing)?;
        Ok(SparseCoder { size: size as usize })
    }
}

/// Encodes and decodes elements of one size.
#[derive(Debug)]
struct SparseCoder {
    size: usize,
}

impl Coder for SparseCoder {
    /// The memory in which a stream is made: each thread has one, and uses it again for each chunk.
    type Scratch = Vec<u8>;

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(HEAD + (len / self.size).div_ceil(8))
    }

    fn encode(&self, stream: &mut Vec<u8>, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let elements = input.chunks_exact(self.size);
        let rest = elements.remainder();
        stream.clear();
        stream.extend((input.len() as u64).to_le_bytes());
        stream.resize(HEAD + elements.len().div_ceil(8), 0);
        for (at, element) in elements.enumerate() {
            if element.iter().any(|byte| *byte != 0) {
                stream[HEAD + at / 8] |= 1 << (at % 8);
                stream.extend(element);
            }
        }
        stream.extend(rest);
        let room = output.get_mut(..stream.len());
        room.ok_or(CodecError::output_full(Some(stream.len())))?.copy_from_slice(stream);
        Ok(stream.len())
    }

    fn decode(&self, _: &mut Vec<u8>, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (len, bits, mut stored) = self.split(input)?;
        let output = output.get_mut(..len).ok_or(CodecError::output_full(Some(len)))?;
        let mut elements = output.chunks_exact_mut(self.size);
        for (at, element) in elements.by_ref().enumerate() {
            if (bits[at / 8] >> (at % 8)) & 1 == 0 {
                element.fill(0);
                continue;
            }
            let (next, after) = stored.split_at_checked(self.size).ok_or_else(|| cut(input))?;
            element.copy_from_slice(next);
            stored = after;
        }
        let rest = elements.into_remainder();
        match stored.len().checked_sub(rest.len()) {
            Some(0) => rest.copy_from_slice(stored),
            Some(extra) => return Err(CodecError::trailing(extra)),
            None => return Err(cut(input)),
        }
        Ok(len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        self.split(input).map(|(len, ..)| Some(len))
    }
}

impl SparseCoder {
    /// Splits a stream into the length of the data, the bits, and the elements. Streams come from files: a length that
    /// this stream is too short for is an error, so that no host reserves memory for it.
    fn split<'a>(&self, stream: &'a [u8]) -> Result<(usize, &'a [u8], &'a [u8])> {
        let (head, rest) = stream.split_first_chunk::<HEAD>().ok_or_else(|| cut(stream))?;
        let len = usize::try_from(u64::from_le_bytes(*head)).map_err(|_| cut(stream))?;
        let bits = (len / self.size).div_ceil(8);
        let (bits, stored) = rest.split_at_checked(bits).ok_or_else(|| cut(stream))?;
        if stored.len() < len % self.size { Err(cut(stream)) } else { Ok((len, bits, stored)) }
    }
}

fn cut(stream: &[u8]) -> CodecError {
    CodecError::truncated(format!("{} bytes", stream.len()))
}

ncz_codec::export!(Sparse);
