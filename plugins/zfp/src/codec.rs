use std::fmt;

use ncz_codec::{CodecError, Coder, Result};
use zfp_rs::{ZfpBitStreamRef, ZfpBitStreamRefMut, ZfpConfig, ZfpHeaderMask, ZfpScalarType};

use crate::blocks::{self, Care};
use crate::field::Field;
use crate::mode::Mode;
use crate::small::Small;

/// Encodes and decodes zfp streams.
#[derive(Debug, Clone)]
pub struct ZfpCoder {
    layout: Layout,
    /// The field to encode, and the limits; streams with a header are decoded without them.
    bound: Option<(Field, ZfpConfig)>,
    /// The type of the numbers in memory, if it is smaller than in the field.
    small: Option<Small>,
    /// The limits of streams with a fixed rate of zarrs, if they are others.
    zarrs: Option<ZfpConfig>,
    /// The requested tolerance. A tolerance of 0 cannot be derived from the limits.
    tolerance: Option<f64>,
}

/// The container of the blocks.
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
    /// Small integers as zfp takes them.
    wide: Vec<u8>,
}

/// The bytes of a word of a stream.
const WORD: usize = 8;

impl ZfpCoder {
    pub(crate) fn new(layout: Layout, bound: Option<(Field, ZfpConfig)>) -> Self {
        Self { layout, bound, small: None, zarrs: None, tolerance: None }
    }

    /// For integers that are smaller in memory than in the field.
    pub(crate) fn with_small(self, small: Option<Small>) -> Self {
        Self { small, ..self }
    }

    /// Sets the limits for streams of zarrs, which gives a block the number of bits of a three-dimensional one,
    /// whatever the dimensions of the field.
    pub(crate) fn with_zarrs(self, zarrs: Option<ZfpConfig>) -> Self {
        Self { zarrs, ..self }
    }

    /// Sets that numbers must be within the tolerance of the mode.
    pub(crate) fn with_promise(self, mode: Mode) -> Self {
        let tolerance = if let Mode::Accuracy(tolerance) = mode { Some(tolerance) } else { None };
        Self { tolerance, ..self }
    }

    /// Returns the limits of a stream of this many bytes: if all blocks have the same number of bits, its length shows
    /// the writer. The second result is the limits of zarrs, if the length fits both.
    fn limits(&self, field: &Field, limits: ZfpConfig, len: usize) -> (ZfpConfig, Option<ZfpConfig>) {
        let bytes =
            |limits: &ZfpConfig| self.layout.bytes(field.blocks().saturating_mul(limits.max_bits().into()));
        match self.zarrs.filter(|zarrs| len == bytes(zarrs)) {
            Some(zarrs) if len == bytes(&limits) => (limits, Some(zarrs)),
            Some(zarrs) => (zarrs, None),
            None => (limits, None),
        }
    }

    /// The bytes of a chunk that is this field.
    fn chunk_len(&self, field: &Field) -> usize {
        self.small.map_or(field.bytes(), |small| small.narrow_len(field.bytes()))
    }

    /// The most bytes of a stream of the bound field.
    pub(crate) fn most(&self) -> Option<usize> {
        let (field, limits) = self.bound.as_ref()?;
        limits.maximum_size(field.scalar, field.dims())
    }

    fn promoted(&self) -> bool {
        self.layout == Layout::Bare
    }

    /// The words of `input`, and after them one of zeros.
    fn load<'a>(scratch: &'a mut ZfpScratch, input: &[u8]) -> &'a [u64] {
        let (words, rest) = input.as_chunks::<WORD>();
        scratch.words.clear();
        scratch.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        scratch.words.extend([u64::from_le_bytes(last), 0]);
        &scratch.words
    }

    /// Reads the header of the stream; the cursor is then at the first block.
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

impl ZfpCoder {
    fn encode_field(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (field, limits) = self
            .bound
            .as_ref()
            .ok_or_else(|| CodecError::config("cd_values", "zfp needs its working words to encode"))?;
        if input.len() != field.bytes() {
            return Err(CodecError::size(
                field.bytes(),
                input.len(),
                "the chunk that zfp was configured for",
            ));
        }
        let care = Care::new(field, limits, self.promoted(), self.tolerance)?;
        let most = self.most().ok_or_else(|| CodecError::unsupported("the chunk is too large for zfp"))?;
        scratch.clear_for(most.div_ceil(WORD))?;
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
        if let (_, Some(zarrs)) = self.limits(field, *limits, length) {
            let mut back = Vec::new();
            fitted(&mut back, field.bytes())?;
            self.decode_field(scratch, output, &mut back)
                .map_err(|_| undecided(length, limits, &zarrs, "would be read as other numbers"))?;
        }
        Ok(length)
    }

    fn decode_field(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let words = Self::load(scratch, input);
        let mut stream = ZfpBitStreamRef::from_words(words);
        let (field, limits) = self.open(&mut stream, input.len() as u64 * 8)?;
        let (limits, zarrs) = self.limits(&field, limits, input.len());
        let length = field.bytes();
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        let read = self.read(&mut stream, input.len(), output, &field, &limits);
        let Some(zarrs) = zarrs else { return read.map(|()| length) };
        let mut other = Vec::new();
        fitted(&mut other, length)?;
        let mut stream = ZfpBitStreamRef::from_words(words);
        let read_other = self.read(&mut stream, input.len(), &mut other, &field, &zarrs);
        match (read, read_other) {
            (Ok(()), Ok(())) if self.differ(output, &other) => {
                Err(undecided(input.len(), &limits, &zarrs, "stand for other numbers"))
            }
            (Err(_), Ok(())) => {
                output.copy_from_slice(&other);
                Ok(length)
            }
            (read, _) => read.map(|()| length),
        }
    }

    /// Reads the numbers of the field, and sees to it that nothing is after them.
    fn read(
        &self,
        stream: &mut ZfpBitStreamRef<'_>,
        len: usize,
        output: &mut [u8],
        field: &Field,
        limits: &ZfpConfig,
    ) -> Result<()> {
        let (bits, promoted) = (len as u64 * 8, self.promoted());
        match field.scalar {
            ZfpScalarType::I32 => blocks::decode::<i32>(stream, bits, output, field, limits, promoted),
            ZfpScalarType::I64 => blocks::decode::<i64>(stream, bits, output, field, limits, promoted),
            ZfpScalarType::F32 => blocks::decode::<f32>(stream, bits, output, field, limits, promoted),
            ZfpScalarType::F64 => blocks::decode::<f64>(stream, bits, output, field, limits, promoted),
        }?;
        let end = stream.read_pos();
        // zfp can be built for words of one byte, as for H5Z-ZFP, or of eight, and the stream ends with one.
        let [bytes, words] = [Layout::Hdf5.bytes(end), self.layout.bytes(end)];
        if len != bytes && len != words {
            return Err(match len.checked_sub(words) {
                Some(extra) => CodecError::trailing(extra),
                None => CodecError::truncated("the last word of a zfp stream is cut"),
            });
        }
        if stream.read_bits((bits - end) as u32) != 0 {
            return Err(CodecError::corrupt("there are bits after the last block of zfp"));
        }
        Ok(())
    }

    /// Whether these numbers of the field are others in memory.
    fn differ(&self, a: &[u8], b: &[u8]) -> bool {
        let Some(small) = self.small else { return a != b };
        let narrow = |wide: &[u8]| {
            let mut narrow = vec![0; small.narrow_len(wide.len())];
            small.narrow(wide, &mut narrow);
            narrow
        };
        narrow(a) != narrow(b)
    }
}

/// A stream that is as long for the specification as for zarrs.
fn undecided(len: usize, limits: &ZfpConfig, zarrs: &ZfpConfig, what: &str) -> CodecError {
    CodecError::unsupported(format!(
        "the {len} bytes of a zfp stream can have {} bits per block, as in the specification, or {}, as in zarrs, which {what}; \
         set minbits and maxbits of the mode expert to choose",
        limits.max_bits(),
        zarrs.max_bits()
    ))
}

impl Coder for ZfpCoder {
    type Scratch = ZfpScratch;

    fn scratch(&self) -> ZfpScratch {
        ZfpScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // Only the field itself is ever encoded; other lengths have no encoding, but the function must return a value.
        match &self.bound {
            Some((field, _)) if self.chunk_len(field) == len => self.most(),
            _ => len.checked_mul(2)?.checked_add(64),
        }
    }

    fn encode(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let Some(small) = self.small else { return self.encode_field(scratch, input, output) };
        let want = self.bound.as_ref().map_or(0, |(field, _)| self.chunk_len(field));
        if input.len() != want {
            return Err(CodecError::size(want, input.len(), "the chunk that zfp was configured for"));
        }
        let mut wide = std::mem::take(&mut scratch.wide);
        let result = small.widen(input, &mut wide).and_then(|()| self.encode_field(scratch, &wide, output));
        scratch.wide = wide;
        result
    }

    fn decode(&self, scratch: &mut ZfpScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (Some(small), Some((field, _))) = (self.small, &self.bound) else {
            return self.decode_field(scratch, input, output);
        };
        let len = self.chunk_len(field);
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let mut wide = std::mem::take(&mut scratch.wide);
        let result =
            fitted(&mut wide, field.bytes()).and_then(|()| self.decode_field(scratch, input, &mut wide));
        if result.is_ok() {
            small.narrow(&wide, output);
        }
        scratch.wide = wide;
        result.map(|_| len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let start = &input[..input.len().min(4 * WORD)];
        let mut scratch = ZfpScratch::default();
        let mut stream = ZfpBitStreamRef::from_words(Self::load(&mut scratch, start));
        self.open(&mut stream, start.len() as u64 * 8).map(|(field, _)| Some(self.chunk_len(&field)))
    }
}

impl ZfpScratch {
    /// Makes this many words of zero; the minimum length of blocks can be far more than their numbers.
    fn clear_for(&mut self, words: usize) -> Result<()> {
        self.words.clear();
        self.words
            .try_reserve(words)
            .map_err(|_| CodecError::unsupported(format!("no memory for a zfp stream of {words} words")))?;
        self.words.resize(words, 0);
        Ok(())
    }
}

/// Resizes `numbers` to this length.
fn fitted(numbers: &mut Vec<u8>, len: usize) -> Result<()> {
    numbers.clear();
    numbers
        .try_reserve(len)
        .map_err(|_| CodecError::unsupported(format!("no memory for the {len} bytes that zfp makes")))?;
    numbers.resize(len, 0);
    Ok(())
}

impl Layout {
    /// The bytes of a stream of this many bits.
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
