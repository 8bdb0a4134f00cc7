use ncz_codec::number::PIECE;
use ncz_codec::{ByteOrder, CodecError, Coder, Number, Result, copy_bytes};

/// Rounds the bits of floating-point numbers of one size.
macro_rules! round {
    ($bits:ty, $input:ident, $output:ident, $is_big:ident, $mantissa:ident, $dropped:ident) => {{
        const SIZE: usize = size_of::<$bits>();
        const MAGNITUDE: $bits = <$bits>::MAX >> 1;
        // All bits of the exponent, none of the mantissa.
        let infinity = MAGNITUDE >> $mantissa << $mantissa;
        // The addend that makes truncation round to nearest, ties to even.
        let half = (1 << ($dropped - 1)) - 1;
        let round = |value: $bits| {
            let rounded = value.wrapping_add((value >> $dropped & 1) + half) >> $dropped << $dropped;
            // A number that would change its class is kept: a NaN that would lose its payload, or a finite number that
            // would overflow.
            let (was, is) = (value & MAGNITUDE, rounded & MAGNITUDE);
            let is_kept = ((was > infinity) ^ (is > infinity)) | ((was < infinity) ^ (is < infinity));
            if is_kept { value } else { rounded }
        };
        let pairs = $output.as_chunks_mut::<SIZE>().0.iter_mut().zip($input.as_chunks::<SIZE>().0);
        if $is_big {
            pairs.for_each(|(room, bytes)| *room = round(<$bits>::from_be_bytes(*bytes)).to_be_bytes());
        } else {
            pairs.for_each(|(room, bytes)| *room = round(<$bits>::from_le_bytes(*bytes)).to_le_bytes());
        }
    }};
}

/// Rounds numbers when it encodes; there is nothing to decode.
#[derive(Debug, Clone, Copy)]
pub struct BitRoundCoder {
    keepbits: u32,
    number: Number,
}

impl BitRoundCoder {
    pub(crate) fn new(keepbits: u32, number: Number) -> Self {
        Self { keepbits, number }
    }

    /// The bits of the mantissa that are stored.
    pub(crate) fn mantissa(number: Number) -> u32 {
        match number.size() {
            2 => 10,
            4 => 23,
            _ => 52,
        }
    }

    /// Rounds the floating-point numbers of `input`, as their bits; `None` if all bits are kept.
    fn round_floats(&self, input: &[u8], output: &mut [u8]) -> Option<()> {
        let mantissa = Self::mantissa(self.number);
        let dropped = mantissa.checked_sub(self.keepbits).filter(|&dropped| dropped > 0)?;
        let is_big = self.number.dtype().order == ByteOrder::Big;
        // One loop for each size: more of the small ones are done at a time.
        match self.number.size() {
            2 => round!(u16, input, output, is_big, mantissa, dropped),
            4 => round!(u32, input, output, is_big, mantissa, dropped),
            _ => round!(u64, input, output, is_big, mantissa, dropped),
        }
        Some(())
    }

    fn round_integers(&self, values: &mut [i64]) {
        for value in values {
            let wide = self.number.value(*value);
            let length = 128 - wide.unsigned_abs().leading_zeros();
            let Some(dropped) = length.checked_sub(self.keepbits).filter(|&dropped| dropped > 0) else {
                continue;
            };
            let magnitude = wide.abs();
            let even = magnitude >> dropped & 1;
            let nearest = (magnitude + (1 << (dropped - 1)) - 1 + even) >> dropped << dropped;
            let below = magnitude >> dropped << dropped;
            let signed = |magnitude: i128| self.number.integer(magnitude * wide.signum());
            // The largest numbers of a type have none above them.
            *value = signed(nearest).or_else(|| signed(below)).unwrap_or(*value);
        }
    }
}

impl Coder for BitRoundCoder {
    type Scratch = ();

    const HAS_FIXED_LEN: bool = true;

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.number.count(input.len())?;
        let output =
            output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))?;
        if self.number.is_float() {
            if self.round_floats(input, output).is_none() {
                output.copy_from_slice(input);
            }
            return Ok(input.len());
        }
        let mut values = [0; PIECE];
        let size = self.number.size();
        for (input, output) in input.chunks(PIECE * size).zip(output.chunks_mut(PIECE * size)) {
            let values = &mut values[..input.len() / size];
            self.number.read_integers(input, values);
            self.round_integers(values);
            self.number.write_integers(values, output);
        }
        Ok(input.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        copy_bytes(input, output)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(input.len()))
    }
}
