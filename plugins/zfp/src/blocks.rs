//! Numbers of a chunk, four by four by four: how zfp takes them.

use ncz_codec::{CodecError, Result};
use zfp_rs::codec::block::{decode_block, encode_block};
use zfp_rs::{ZfpBitStreamRef, ZfpBitStreamRefMut, ZfpConfig, ZfpMode, ZfpScalarType};

use crate::field::Field;
use crate::number::Number;

/// The numbers of a block along a dimension.
const SIDE: usize = 4;
/// The most numbers of a block.
const MOST: usize = 256;
/// The number of words that hold any block, even with limits far above what it needs.
const BLOCK_WORDS: usize = 1024;

/// Values that are refused because zfp would change them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Care {
    /// Numbers must be finite and not too large for the transform.
    lossy: bool,
    /// The tolerance that is promised, of floating-point numbers.
    tolerance: Option<f64>,
    /// Unsigned numbers stay below 2 to the power of this.
    unsigned_bits: Option<u32>,
}

impl Care {
    /// `promoted`: unsigned numbers are converted to signed ones of the same size, not reinterpreted. `tolerance`:
    /// the requested tolerance, if the limits do not show it.
    pub(crate) fn new(
        field: &Field,
        limits: &ZfpConfig,
        promoted: bool,
        tolerance: Option<f64>,
    ) -> Result<Self> {
        let lossy = limits.mode() != ZfpMode::Reversible && limits.min_exp() >= zfp_rs::ZFP_MIN_EXP;
        let is_float = matches!(field.scalar, ZfpScalarType::F32 | ZfpScalarType::F64);
        let tolerance = tolerance.or(limits.accuracy());
        if !is_float && tolerance.is_some() {
            return Err(CodecError::unsupported(
                "zfp has no tolerance for integers: the loss would not be bounded; use reversible, or a precision",
            ));
        }
        Ok(Self {
            lossy,
            tolerance,
            unsigned_bits: (field.unsigned && promoted).then(|| field.scalar.precision() - 1),
        })
    }

    fn check<T: Number>(&self, block: &[T], field: &Field, limits: &ZfpConfig) -> Result<()> {
        if self.unsigned_bits.is_some() && block.iter().any(|number| number.is_negative()) {
            return Err(CodecError::values(format!(
                "zfp takes unsigned numbers below 2^{} only",
                self.unsigned_bits.unwrap_or_default()
            )));
        }
        if !self.lossy {
            return Ok(());
        }
        if let Some(number) = block.iter().find(|number| !number.is_in_range()) {
            return Err(CodecError::values(match field.scalar {
                ZfpScalarType::I32 | ZfpScalarType::I64 => format!(
                    "zfp would spoil the numbers around {}: with loss it takes integers from -2^{bits} to 2^{bits} - 1; take reversible",
                    shown(number.to_f64()),
                    bits = field.scalar.precision() - 2,
                ),
                _ => format!(
                    "zfp would spoil the numbers around {}, which is not finite; take reversible",
                    shown(number.to_f64())
                ),
            }));
        }
        let unsigned = field.unsigned && self.unsigned_bits.is_none();
        let short = self.tolerance.filter(|_| {
            let largest = block.iter().map(|number| number.to_f64().abs()).fold(0.0, f64::max);
            // The bit planes that the tolerance requires (zfp, "precision" of a block), and those that exist.
            exponent(largest)
                .saturating_sub(limits.min_exp())
                .saturating_add(2 * (u32::from(field.rank) as i32 + 1))
                > field.scalar.precision() as i32
        });
        if !unsigned && short.is_none() {
            return Ok(());
        }
        let mut words = [0; BLOCK_WORDS];
        let mut decoded = [T::default(); MOST];
        let decoded = &mut decoded[..block.len()];
        let mut stream = ZfpBitStreamRefMut::from_words(&mut words);
        encode_block(&mut stream, limits, block, field.rank).map_err(internal)?;
        stream.flush();
        decode_block(&mut ZfpBitStreamRef::from_words(&words), limits, decoded, field.rank)
            .map_err(internal)?;
        for (number, decoded) in block.iter().zip(decoded) {
            if unsigned && decoded.is_negative() != number.is_negative() {
                // It is reinterpreted as the signed number with the same bits.
                let bits = field.scalar.precision();
                let unsigned =
                    number.to_f64() + if number.is_negative() { 2_f64.powi(bits as i32) } else { 0.0 };
                return Err(CodecError::values(format!(
                    "zfp would make quite another number of the unsigned {}, which would wrap around; take reversible, or \
                     more bits",
                    shown(unsigned)
                )));
            }
            let (number, decoded) = (number.to_f64(), decoded.to_f64());
            let off = (number - decoded).abs();
            if let Some(tolerance) = short
                && off > tolerance
                && off > number.abs() * T::RESOLUTION
            {
                return Err(CodecError::values(format!(
                    "zfp would make {} of {}, further off than the tolerance, because of a large number near it; take reversible, or set such numbers apart",
                    shown(decoded),
                    shown(number)
                )));
            }
        }
        Ok(())
    }
}

/// Writes the numbers in `input`, which has the bytes of the field, to the stream.
pub(crate) fn encode<T: Number>(
    stream: &mut ZfpBitStreamRefMut<'_>,
    input: &[u8],
    field: &Field,
    limits: &ZfpConfig,
    care: &Care,
) -> Result<()> {
    let mut block = [T::default(); MOST];
    let block = &mut block[..field.rank.block_size()];
    for place in places(field) {
        place.rows(field, |at, to, count| {
            let bytes = &input[at * T::SIZE..(at + count) * T::SIZE];
            for (number, bytes) in block[to..].iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
                *number = T::read(bytes);
            }
        });
        pad(block, &place);
        care.check(block, field, limits)?;
        encode_block(stream, limits, block, field.rank).map_err(internal)?;
    }
    Ok(())
}

/// Reads the numbers of the field from the stream, which has `bits` bits, to `output`, which has its bytes.
/// `promoted`: unsigned numbers were converted to signed ones, and those that became negative are 0.
pub(crate) fn decode<T: Number>(
    stream: &mut ZfpBitStreamRef<'_>,
    bits: u64,
    output: &mut [u8],
    field: &Field,
    limits: &ZfpConfig,
    promoted: bool,
) -> Result<()> {
    let mut block = [T::default(); MOST];
    let block = &mut block[..field.rank.block_size()];
    for place in places(field) {
        decode_block(stream, limits, block, field.rank).map_err(internal)?;
        if stream.read_pos() > bits {
            return Err(CodecError::truncated("a block of zfp is cut"));
        }
        place.rows(field, |at, from, count| {
            let bytes = &mut output[at * T::SIZE..(at + count) * T::SIZE];
            for (number, bytes) in block[from..].iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
                let negative = promoted && field.unsigned && number.is_negative();
                if negative { T::default() } else { *number }.write(bytes);
            }
        });
    }
    Ok(())
}

/// The position of a block: its first number along each dimension, and how many of its numbers are in the chunk.
#[derive(Debug, Clone, Copy)]
struct Place {
    origin: [usize; 4],
    lengths: [usize; 4],
}

impl Place {
    /// Calls `visit` for each run of numbers: its index in the chunk, its index in the block, and the count.
    fn rows(&self, field: &Field, mut visit: impl FnMut(usize, usize, usize)) {
        let [nx, ny, nz, _] = field.lengths;
        let [x, y, z, w] = self.origin;
        let [count, ys, zs, ws] = self.lengths;
        for (i, j, k) in (0..ws).flat_map(|i| (0..zs).flat_map(move |j| (0..ys).map(move |k| (i, j, k)))) {
            let at = (((w + i) * nz + z + j) * ny + y + k) * nx + x;
            visit(at, ((i * SIDE + j) * SIDE + k) * SIDE, count);
        }
    }
}

/// Returns the positions of all blocks, in the order of the stream.
fn places(field: &Field) -> impl Iterator<Item = Place> + use<> {
    let lengths = field.lengths;
    let counts = lengths.map(|length| length.div_ceil(SIDE));
    let [xs, ys, zs, ws] = counts;
    (0..xs * ys * zs * ws).map(move |number| {
        let block = [number % xs, number / xs % ys, number / xs / ys % zs, number / xs / ys / zs];
        let origin = block.map(|at| at * SIDE);
        Place { origin, lengths: std::array::from_fn(|axis| (lengths[axis] - origin[axis]).min(SIDE)) }
    })
}

/// Fills what a block at the border lacks, as zfp does: with the numbers at its own borders.
fn pad<T: Copy>(block: &mut [T], place: &Place) {
    for (axis, &length) in place.lengths.iter().enumerate() {
        let stride = SIDE.pow(axis as u32);
        if length == SIDE || stride >= block.len() {
            continue;
        }
        // Lines that are not there yet get their numbers from those that are, along the next dimension.
        for start in (0..block.len()).filter(|at| (at / stride).is_multiple_of(SIDE)) {
            for at in length..SIDE {
                let from = if at == SIDE - 1 { 0 } else { at - 1 };
                block[start + at * stride] = block[start + from * stride];
            }
        }
    }
}

/// The exponent of a number that is a fraction of 0.5 to 1 times a power of two; small for 0.
fn exponent(number: f64) -> i32 {
    (number.to_bits() >> 52 & 0x7ff) as i32 - 1022
}

fn shown(number: f64) -> String {
    if number.abs() < 1e16 { number.to_string() } else { format!("{number:e}") }
}

/// Blocks have the length that follows from their rank.
fn internal(error: zfp_rs::ZfpBlockError) -> CodecError {
    CodecError::unsupported(error.to_string())
}
