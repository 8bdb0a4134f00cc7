use ncz_codec::number::PIECE;
use ncz_codec::{CodecError, Coder, Dtype, Kind, Number, Result};

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

    fn round_floats(&self, values: &mut [i64]) {
        let mantissa = Self::mantissa(self.number);
        let Some(dropped) = mantissa.checked_sub(self.keepbits).filter(|&dropped| dropped > 0) else {
            return;
        };
        let magnitude = i64::MAX >> (64 - 8 * self.number.size());
        // All bits of the exponent, none of the mantissa.
        let infinity = magnitude >> mantissa << mantissa;
        for value in values {
            let rounded = value.wrapping_add(half_even(*value, dropped)) >> dropped << dropped;
            // What leaves its class, a NaN without its payload or a finite number beyond the largest, is kept.
            let was = (*value & magnitude).cmp(&infinity);
            let is = (rounded & magnitude).cmp(&infinity);
            *value = if was == is { rounded } else { *value };
        }
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

/// What is added so that cutting `dropped` bits off rounds to the nearest, the even one of two.
fn half_even(bits: i64, dropped: u32) -> i64 {
    (bits >> dropped & 1) + (1 << (dropped - 1)) - 1
}

impl Coder for BitRoundCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.number.count(input.len())?;
        let output =
            output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))?;
        // The bits of a floating-point number as an integer.
        let bits = if self.number.is_float() {
            Number::new(Dtype { kind: Kind::UInt, ..self.number.dtype() })?
        } else {
            self.number
        };
        let mut values = [0; PIECE];
        let size = bits.size();
        for (input, output) in input.chunks(PIECE * size).zip(output.chunks_mut(PIECE * size)) {
            let values = &mut values[..input.len() / size];
            bits.read_integers(input, values);
            if self.number.is_float() {
                self.round_floats(values);
            } else {
                self.round_integers(values);
            }
            bits.write_integers(values, output);
        }
        Ok(input.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output =
            output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))?;
        output.copy_from_slice(input);
        Ok(input.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(input.len()))
    }
}
