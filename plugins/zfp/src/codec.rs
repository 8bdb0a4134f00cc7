use std::fmt;

use ncz_codec::{CodecError, Coder, Result};
use zfp_rs::{ZfpBitStreamRef, ZfpBitStreamRefMut, ZfpConfig, ZfpHeaderMask, ZfpScalarType};

use crate::blocks::{self, Care};
use crate::field::Field;

/// Encodes and decodes zfp streams.
#[derive(Debug, Clone)]
pub struct ZfpCoder {
    layout: Layout,
    /// What is encoded, and with which limits; streams with a header are decoded without it.
    bound: Option<(Field, ZfpConfig)>,
}

/// What is around the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Nothing; the stream ends with a byte. H5Z-ZFP's, which keeps the header elsewhere.
    Hdf5,
    /// Nothing; the stream ends with a word of eight bytes. That of `zfp` in Zarr v3.
    Bare,
    /// A header; the stream ends with a word of eight bytes. That of zfpy.
    Headed,
}

/// The words of one thread's stream.
#[derive(Default)]
pub struct ZfpScratch {
    words: Vec<u64>,
}

/// The bytes of a word of a stream.
const WORD: usize = 8;

impl ZfpCoder {
    pub(crate) fn new(layout: Layout, bound: Option<(Field, ZfpConfig)>) -> Self {
        Self { layout, bound }
    }

    /// The most bytes of a stream of the bound field.
    pub(crate) fn most(&self) -> Option<usize> {
        let (field, limits) = self.bound.as_ref()?;
        limits.maximum_size(field.scalar, field.dims())
    }

    fn promoted(&self) -> bool {
        self.layout == Layout::Bare
    }

    /// The words of `input`, and behind them one of zeros.
    fn load<'a>(scratch: &'a mut ZfpScratch, input: &[u8]) -> &'a [u64] {
        let (words, rest) = input.as_chunks::<WORD>();
        scratch.words.clear();
        scratch.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        scratch.words.extend([u64::from_le_bytes(last), 0]);
        &scratch.words
    }

    /// What is in the stream, the cursor of which is then at the first block.
    fn open(&self, stream: &mut ZfpBitStreamRef<'_>, bits: u64) -> Result<(Field, ZfpConfig)> {
        if self.layout != Layout::Headed {
            return self
                .bound
                .ok_or_else(|| CodecError::config("cd_values", "zfp needs its working words to decode"));
        }
        let header = stream.read_header(ZfpHeaderMask::FULL);
        if stream.read_pos() > bits {
            return Err(CodecError::truncated("the header of a zfp stream is cut"));
        }
        let header = header.map_err(|error| CodecError::corrupt(error.to_string()))?;
        match (header.metadata.and_then(Field::from_header), header.config) {
            (Some(field), Some(limits)) => Ok((field, limits)),
            _ => Err(CodecError::corrupt("the header of zfp states no chunk that fits in memory")),
        }
    }
}

impl Coder for ZfpCoder {
    type Scratch = ZfpScratch;

    fn scratch(&self) -> ZfpScratch {
        ZfpScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // Only the field itself is ever encoded; other lengths have no encoding, and get an answer all the same.
        match &self.bound {
            Some((field, _)) if field.bytes() == len => self.most(),
            _ => len.checked_mul(2)?.checked_add(64),
        }
    }

    fn encode(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (field, limits) = self
            .bound
            .as_ref()
            .ok_or_else(|| CodecError::config("cd_values", "zfp needs its working words to encode"))?;
        if input.len() != field.bytes() {
            return Err(CodecError::size(field.bytes(), input.len(), "the chunk that zfp was told of"));
        }
        let care = Care::new(field, limits, self.promoted())?;
        let most = self.most().ok_or_else(|| CodecError::unsupported("the chunk is too large for zfp"))?;
        scratch.words.clear();
        scratch.words.resize(most.div_ceil(WORD), 0);
        let mut stream = ZfpBitStreamRefMut::from_words(&mut scratch.words);
        if self.layout == Layout::Headed {
            stream.write_header(limits, &field.header(), ZfpHeaderMask::FULL).map_err(|error| {
                CodecError::unsupported(format!("{error}, of a chunk of {:?}", field.dims()))
            })?;
        }
        match field.scalar {
            ZfpScalarType::I32 => blocks::encode::<i32>(&mut stream, input, field, limits, &care),
            ZfpScalarType::I64 => blocks::encode::<i64>(&mut stream, input, field, limits, &care),
            ZfpScalarType::F32 => blocks::encode::<f32>(&mut stream, input, field, limits, &care),
            ZfpScalarType::F64 => blocks::encode::<f64>(&mut stream, input, field, limits, &care),
        }?;
        let bits = stream.write_pos();
        stream.flush();
        if stream.overflowed() {
            return Err(CodecError::unsupported("zfp wrote more than it promised"));
        }
        let length = self.layout.bytes(bits);
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        for (bytes, word) in output.chunks_mut(WORD).zip(&scratch.words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        Ok(length)
    }

    fn decode(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let bits = input.len() as u64 * 8;
        let mut stream = ZfpBitStreamRef::from_words(Self::load(scratch, input));
        let (field, limits) = self.open(&mut stream, bits)?;
        let length = field.bytes();
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        let promoted = self.promoted();
        match field.scalar {
            ZfpScalarType::I32 => blocks::decode::<i32>(&mut stream, bits, output, &field, &limits, promoted),
            ZfpScalarType::I64 => blocks::decode::<i64>(&mut stream, bits, output, &field, &limits, promoted),
            ZfpScalarType::F32 => blocks::decode::<f32>(&mut stream, bits, output, &field, &limits, promoted),
            ZfpScalarType::F64 => blocks::decode::<f64>(&mut stream, bits, output, &field, &limits, promoted),
        }?;
        let end = stream.read_pos();
        // zfp can be built for words of one byte, as for H5Z-ZFP, or of eight, and the stream ends with one.
        let [bytes, words] = [Layout::Hdf5.bytes(end), self.layout.bytes(end)];
        if input.len() != bytes && input.len() != words {
            return Err(match input.len().checked_sub(words) {
                Some(extra) => CodecError::trailing(extra),
                None => CodecError::truncated("the last word of a zfp stream is cut"),
            });
        }
        if stream.read_bits((bits - end) as u32) != 0 {
            return Err(CodecError::corrupt("there are bits behind the last block of zfp"));
        }
        Ok(length)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let start = &input[..input.len().min(4 * WORD)];
        let mut scratch = ZfpScratch::default();
        let mut stream = ZfpBitStreamRef::from_words(Self::load(&mut scratch, start));
        self.open(&mut stream, start.len() as u64 * 8).map(|(field, _)| Some(field.bytes()))
    }
}

impl Layout {
    /// The bytes of a stream of so many bits.
    fn bytes(self, bits: u64) -> usize {
        let bytes = bits.div_ceil(8) as usize;
        match self {
            Self::Hdf5 => bytes,
            Self::Bare | Self::Headed => bytes.next_multiple_of(WORD),
        }
    }
}

impl fmt::Debug for ZfpScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZfpScratch").finish_non_exhaustive()
    }
}
