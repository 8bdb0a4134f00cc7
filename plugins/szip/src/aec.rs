//! The adaptive entropy coder of CCSDS 121.0-B-3, "Lossless Data Compression".
//!
//! Samples come in *reference sample intervals* of up to 4096 blocks of `block` samples. With
//! the predictor on, the first sample of an interval is stored as it is and each other one
//! as the mapped difference to its predecessor (section 4). Each block is then coded with
//! the shortest of these methods, named by an id of 3, 4 or 5 bits (section 3):
//!
//! | id | option | content |
//! | --- | --- | --- |
//! | 0, then 0 | zero block | fundamental sequence: how many blocks are all zero |
//! | 0, then 1 | second extension | pairs of samples as one fundamental sequence |
//! | 1 ..= max - 1 | split at k = id - 1 | upper parts as fundamental sequences, then the k low bits |
//! | max | uncompressed | all bits |
//!
//! A fundamental sequence is a number of zero bits and a one. The standard leaves to the
//! encoder how it looks for the best k; this one takes the same steps as libaec, so that
//! streams are equal byte by byte.

mod bits;
mod decode;
mod encode;
mod sample;

use self::bits::{BitReader, BitWriter};
use self::sample::Sample;
use crate::error::SzError;

/// The most samples of one block.
pub(crate) const MAX_BLOCK: usize = 32;

/// The parameters that encoder and decoder share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aec {
    /// Bits of a sample, 1..=31.
    pub(crate) bits: u32,
    /// Samples of a block, even, 2..=32.
    pub(crate) block: usize,
    /// Samples of a scanline, 1 and more. A scanline is one reference sample interval, when
    /// padded to whole blocks.
    pub(crate) scanline: usize,
    /// Whether the unit-delay predictor is on.
    pub(crate) predict: bool,
    /// Byte order of samples of more than 8 bits.
    pub(crate) big_endian: bool,
}

/// One reference sample interval in the width that fits, and the mapped differences.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    narrow: [Vec<u8>; 2],
    middle: [Vec<u16>; 2],
    wide: [Vec<u32>; 2],
}

impl Aec {
    /// Bytes in which one sample is stored.
    pub(crate) fn sample_bytes(&self) -> usize {
        match self.bits {
            ..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    /// Encodes whole samples; each scanline, also a short last one, is padded.
    pub(crate) fn encode(
        &self,
        lines: &mut Lines,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, SzError> {
        let out = BitWriter::new(output);
        match self.bits {
            ..=8 => self.encode_samples(&mut lines.narrow, input, out),
            9..=16 => self.encode_samples(&mut lines.middle, input, out),
            _ => self.encode_samples(&mut lines.wide, input, out),
        }
    }

    /// Fills `output`, whole samples, from a stream that must end with them.
    pub(crate) fn decode(
        &self,
        lines: &mut Lines,
        input: &[u8],
        output: &mut [u8],
        accept_unpadded: bool,
    ) -> Result<(), SzError> {
        let input = BitReader::new(input);
        match self.bits {
            ..=8 => self.decode_samples(&mut lines.narrow[0], input, output, accept_unpadded),
            9..=16 => self.decode_samples(&mut lines.middle[0], input, output, accept_unpadded),
            _ => self.decode_samples(&mut lines.wide[0], input, output, accept_unpadded),
        }
    }

    /// Refuses a stream that is too short for `output_len` bytes with any content, so that no
    /// memory is allocated for it.
    pub(crate) fn check_length(
        &self,
        input: &[u8],
        output_len: usize,
        accept_unpadded: bool,
    ) -> Result<(), SzError> {
        let samples = output_len / self.sample_bytes();
        let samples = if accept_unpadded { samples - samples % self.scanline } else { samples };
        if (input.len() as u64).saturating_mul(8) < self.fewest_bits(samples) {
            return Err(SzError::Truncated);
        }
        Ok(())
    }

    /// An upper bound for the bits of `samples` encoded samples.
    pub(crate) fn most_bits(&self, samples: usize) -> Option<u64> {
        // Of one block: all its bits, or, if these are very few, a zero block with its
        // reference sample.
        let block = (self.block as u64 * u64::from(self.bits)).max(u64::from(self.bits) + 2);
        self.scanlines(samples)
            .checked_mul(self.blocks() as u64)?
            .checked_mul(u64::from(self.id_bits()) + block)
    }

    /// A lower bound for the bits of `samples` encoded samples: nothing but long zero blocks.
    fn fewest_bits(&self, samples: usize) -> u64 {
        let runs = self.blocks().div_ceil(SEGMENT) as u64;
        let reference = if self.predict { self.bits } else { 0 };
        let line = runs * u64::from(self.id_bits() + 2) + u64::from(reference);
        self.scanlines(samples).saturating_mul(line)
    }

    fn encode_samples<T: Sample>(
        &self,
        [raw, mapped]: &mut [Vec<T>; 2],
        input: &[u8],
        mut out: BitWriter<'_>,
    ) -> Result<usize, SzError> {
        let padded = self.blocks() * self.block;
        raw.resize(padded, T::default());
        mapped.resize(padded, T::default());
        let mut encoder = encode::Encoder::new(self);
        for (number, bytes) in input.chunks(self.scanline * self.sample_bytes()).enumerate() {
            let (line, padding) = raw.split_at_mut(bytes.len() / self.sample_bytes());
            T::load(line, bytes, self.big_endian);
            if T::union(line) > self.max() {
                return Err(SzError::SampleRange { scanline: number, bits: self.bits });
            }
            if self.predict {
                padding.fill(line.last().copied().unwrap_or_default());
                T::map(raw, mapped, self.max());
                let reference = raw.first().map(|&sample| sample.into());
                encoder.encode_interval(mapped, reference, &mut out);
            } else {
                padding.fill(T::default());
                encoder.encode_interval(raw, None, &mut out);
            }
        }
        out.finish()
    }

    fn decode_samples<T: Sample>(
        &self,
        line: &mut Vec<T>,
        mut input: BitReader<'_>,
        output: &mut [u8],
        accept_unpadded: bool,
    ) -> Result<(), SzError> {
        line.resize(self.blocks() * self.block, T::default());
        let decoder = decode::Decoder::new(self);
        for bytes in output.chunks_mut(self.scanline * self.sample_bytes()) {
            let samples = bytes.len() / self.sample_bytes();
            let end = decoder.decode_interval(line, samples, &mut input)?;
            if end == decode::End::Unpadded && !accept_unpadded {
                return Err(SzError::Unpadded);
            }
            T::store(&line[..samples], bytes, self.big_endian);
        }
        input.finish()
    }

    fn id_bits(&self) -> u32 {
        match self.bits {
            ..=8 => 3,
            9..=16 => 4,
            _ => 5,
        }
    }

    /// The greatest sample, 2^bits - 1.
    fn max(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// Blocks of an interval.
    fn blocks(&self) -> usize {
        self.scanline.div_ceil(self.block)
    }

    fn scanlines(&self, samples: usize) -> u64 {
        samples.div_ceil(self.scanline) as u64
    }
}

/// Blocks of a segment: a run of zero blocks never crosses its end.
const SEGMENT: usize = 64;

/// The fundamental sequence that means "zero to the end of the segment".
const REST_OF_SEGMENT: u64 = 4;
