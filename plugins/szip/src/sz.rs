//! The szip layer on the entropy coder: what libaec's `SZ_BufftoBuffCompress` and
//! `SZ_BufftoBuffDecompress` do around CCSDS 121.0-B-3.
//!
//! - Of the options mask only two bits change the stream: NN switches the predictor on, MSB
//!   means that samples of 9 to 31 bits are big-endian. EC, RAW, ALLOW_K13, CHIP and LSB change
//!   nothing.
//! - Pixels of 32 and 64 bits are split into planes, first all first bytes, then all second
//!   ones, and coded as samples of 8 bits. Others are stored in 1, 2 or 4 bytes a pixel.
//! - A scanline is one reference sample interval. It is padded to whole blocks, the last
//!   scanline of the data to a whole one: with the last sample under NN, else with zeros.

mod planes;

use crate::aec::{Aec, Lines, MAX_BLOCK};
use crate::error::SzError;

/// The options of the mask, `H5_SZIP_*_OPTION_MASK` in HDF5's API.
pub mod option {
    /// Allow a split at k = 13.
    pub const ALLOW_K13: u32 = 1;
    /// As in the hardware encoder.
    pub const CHIP: u32 = 2;
    /// Entropy coding: no predictor.
    pub const EC: u32 = 4;
    /// Little-endian pixels.
    pub const LSB: u32 = 8;
    /// Big-endian pixels.
    pub const MSB: u32 = 16;
    /// Nearest neighbour: with the predictor.
    pub const NN: u32 = 32;
    /// No header before the stream.
    pub const RAW: u32 = 128;

    pub(super) const ALL: u32 = ALLOW_K13 | CHIP | EC | LSB | MSB | NN | RAW;
}

/// The most pixels of a scanline.
const MAX_SCANLINE: u32 = 4096;

/// The four working parameters of HDF5 filter 4, checked.
///
/// ```
/// # fn main() -> Result<(), ncz_szip::SzError> {
/// use ncz_szip::{Scratch, SzParams, option};
///
/// let params = SzParams::new(option::NN | option::LSB, 8, 16, 64)?;
/// let mut scratch = Scratch::default();
/// let pixels: Vec<u8> = (0..1000u16).flat_map(u16::to_le_bytes).collect();
///
/// let mut encoded = vec![0; params.max_encoded_len(pixels.len()).unwrap_or(usize::MAX)];
/// let len = params.encode(&mut scratch, &pixels, &mut encoded)?;
/// let mut decoded = vec![0; pixels.len()];
/// params.decode(&mut scratch, &encoded[..len], &mut decoded)?;
/// assert_eq!(decoded, pixels);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SzParams {
    mask: u32,
    pixels_per_block: u32,
    bits_per_pixel: u32,
    pixels_per_scanline: u32,
    accept_unpadded: bool,
}

/// Memory that encoding and decoding keep between chunks.
#[derive(Debug, Default)]
pub struct Scratch {
    planes: Vec<u8>,
    lines: Lines,
}

impl SzParams {
    /// Takes the parameters in the order of the filter's `cd_values`: options mask, pixels per
    /// block (even, 2..=32), bits per pixel (1..=32 or 64), pixels per scanline (1..=4096).
    ///
    /// # Errors
    /// `Mask`, `PixelsPerBlock`, `BitsPerPixel` or `PixelsPerScanline`.
    pub fn new(
        mask: u32,
        pixels_per_block: u32,
        bits_per_pixel: u32,
        pixels_per_scanline: u32,
    ) -> Result<Self, SzError> {
        let unknown = mask & !option::ALL;
        if unknown != 0 {
            return Err(SzError::Mask { mask, unknown });
        }
        if !(2..=MAX_BLOCK as u32).contains(&pixels_per_block) || !pixels_per_block.is_multiple_of(2) {
            return Err(SzError::PixelsPerBlock(pixels_per_block));
        }
        if !matches!(bits_per_pixel, 1..=32 | 64) {
            return Err(SzError::BitsPerPixel(bits_per_pixel));
        }
        if !(1..=MAX_SCANLINE).contains(&pixels_per_scanline) {
            return Err(SzError::PixelsPerScanline(pixels_per_scanline));
        }
        Ok(Self { mask, pixels_per_block, bits_per_pixel, pixels_per_scanline, accept_unpadded: false })
    }

    /// Accepts, when decoding, streams that end with the block of the last pixel although
    /// whole blocks of padding should follow.
    ///
    /// libaec before 0.3.4 (2016) wrote such streams when the scanline is a multiple of the
    /// block and the last scanline is short. They hold all data, but cannot be distinguished from
    /// longer streams that were cut in their padding; hence not the default.
    #[must_use]
    pub fn accept_unpadded(mut self) -> Self {
        self.accept_unpadded = self.pixels_per_scanline.is_multiple_of(self.pixels_per_block);
        self
    }

    /// The parameters in the order of the filter's `cd_values`.
    #[must_use]
    pub fn cd_values(&self) -> [u32; 4] {
        [self.mask, self.pixels_per_block, self.bits_per_pixel, self.pixels_per_scanline]
    }

    /// The bytes in which one pixel is stored: the length of the uncompressed data must be a
    /// multiple of it.
    #[must_use]
    pub fn pixel_bytes(&self) -> usize {
        self.plane_count().unwrap_or(self.aec().sample_bytes())
    }

    /// The most bytes to which `input_len` bytes can be encoded; `None` if no memory can hold
    /// them.
    #[must_use]
    pub fn max_encoded_len(&self, input_len: usize) -> Option<usize> {
        let aec = self.aec();
        let bits = aec.most_bits(input_len.div_ceil(aec.sample_bytes()))?;
        usize::try_from(bits.div_ceil(8).max(1)).ok()
    }

    /// Encodes the pixels of `input` and returns the length of the stream, which is the one that
    /// libaec writes.
    ///
    /// # Errors
    /// `PartialPixel`; `SampleRange` if a pixel has bits above its declared ones; `OutputFull`,
    /// never if `output` has [`SzParams::max_encoded_len`] bytes.
    pub fn encode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize, SzError> {
        self.check_pixels(input.len())?;
        if input.is_empty() {
            // libaec fills a byte of which it has used no bit.
            let byte = output.first_mut().ok_or(SzError::OutputFull { capacity: 0 })?;
            *byte = 0;
            return Ok(1);
        }
        let Scratch { planes, lines } = scratch;
        let samples = match self.plane_count() {
            Some(count) => planes::split(input, count, planes),
            None => input,
        };
        self.aec().encode(lines, samples, output)
    }

    /// Decodes a stream to exactly the bytes of `output` and returns their number.
    ///
    /// # Errors
    /// `PartialPixel` if the length of `output` is not whole pixels; `Truncated`, `Unpadded`,
    /// `Trailing` if the stream has another length than one for that many pixels; `Corrupt`.
    /// After an error the content of `output` is undefined.
    pub fn decode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize, SzError> {
        self.check_pixels(output.len())?;
        if output.is_empty() {
            return match input {
                [] => Err(SzError::Truncated),
                [0] => Ok(0),
                [_] => Err(SzError::Corrupt("a stream of 0 pixels has bits")),
                [_, rest @ ..] => Err(SzError::Trailing { bytes: rest.len() }),
            };
        }
        let Scratch { planes, lines } = scratch;
        let aec = self.aec();
        match self.plane_count() {
            Some(count) => {
                aec.check_length(input, output.len(), self.accept_unpadded)?;
                planes.resize(output.len(), 0);
                aec.decode(lines, input, planes, self.accept_unpadded)?;
                planes::join(planes, count, output);
            }
            None => aec.decode(lines, input, output, self.accept_unpadded)?,
        }
        Ok(output.len())
    }

    fn check_pixels(&self, len: usize) -> Result<(), SzError> {
        let pixel = self.pixel_bytes();
        if len.is_multiple_of(pixel) {
            return Ok(());
        }
        Err(SzError::PartialPixel { len, pixel })
    }

    /// The planes into which pixels are split, if they are.
    fn plane_count(&self) -> Option<usize> {
        match self.bits_per_pixel {
            32 => Some(4),
            64 => Some(8),
            _ => None,
        }
    }

    fn aec(&self) -> Aec {
        Aec {
            bits: self.plane_count().map_or(self.bits_per_pixel, |_| 8),
            block: self.pixels_per_block as usize,
            scanline: self.pixels_per_scanline as usize,
            predict: self.mask & option::NN != 0,
            big_endian: self.mask & option::MSB != 0,
        }
    }
}
