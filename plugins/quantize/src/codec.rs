use ncz_codec::number::{PIECE, PIECE_BYTES, round_ties_even, round_ties_even_f32};
use ncz_codec::{CodecError, Coder, Number, Result};

/// Rounds numbers to a power of two when it encodes; decoding only changes their type.
#[derive(Debug, Clone, Copy)]
pub struct QuantizeCoder {
    dtype: Number,
    astype: Number,
    /// By this power of two the numbers are multiplied, rounded and divided.
    scale: f64,
    /// One over it, which is exact: to multiply by it is the same and takes less time.
    inverse: f64,
}

impl QuantizeCoder {
    pub(crate) fn new(digits: i32, dtype: Number, astype: Number) -> Result<Self> {
        // The least power of two that is not a smaller than 10^digits: what numcodecs has by logarithms.
        let bits = (f64::from(digits) * std::f64::consts::LOG2_10).ceil();
        let scale = dtype.rounded(bits.exp2());
        if scale == 0.0 || !scale.is_finite() {
            let text = format!(
                "2^{bits}, by which the numbers are multiplied, is not a {dtype}: numcodecs makes all numbers NaN"
            );
            return Err(CodecError::config("digits", text));
        }
        Ok(Self { dtype, astype, scale, inverse: scale.recip() })
    }

    /// Numbers of 4 bytes that stay such, little-endian, in their own arithmetic.
    fn quantize_f32(scale: f32, inverse: f32, input: &[u8], room: &mut [u8]) {
        for (room, bytes) in room.as_chunks_mut().0.iter_mut().zip(input.as_chunks().0) {
            let value = f32::from_le_bytes(*bytes);
            let quantized = round_ties_even_f32(value * scale) * inverse;
            // A finite number that is too large to be multiplied has no digits to drop.
            let quantized = if quantized.abs() == f32::INFINITY { value } else { quantized };
            *room = quantized.to_le_bytes();
        }
    }

    fn quantize(&self, values: &mut [f64]) {
        // One loop for each type, in which the choice is made.
        match self.dtype.size() {
            4 => self.quantize_in(values, |value| f64::from(value as f32)),
            8 => self.quantize_in(values, |value| value),
            _ => self.quantize_in(values, |value| self.dtype.rounded(value)),
        }
    }

    fn quantize_in(&self, values: &mut [f64], rounded: impl Fn(f64) -> f64) {
        for value in values {
            let scaled = rounded(*value * self.scale);
            let quantized = rounded(round_ties_even(scaled) * self.inverse);
            // A finite number that is too large to be multiplied has no digits to drop.
            let is_kept = value.is_finite() & !(scaled.is_finite() & quantized.is_finite());
            *value = if is_kept { *value } else { quantized };
        }
    }
}

impl Coder for QuantizeCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        (len / self.dtype.size()).checked_mul(self.astype.size())
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.dtype.count(input.len())?;
        let need = self.max_encoded_len(input.len());
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let (from, to) = (self.dtype.size(), self.astype.size());
        let mut values = [0.0; PIECE];
        let mut swapped = [0; PIECE_BYTES];
        let (scale, inverse) = (self.scale as f32, self.inverse as f32);
        let stays_f32 = from == 4 && to == 4 && inverse.is_finite();
        for (index, (input, room)) in
            input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to)).enumerate()
        {
            if stays_f32 {
                Self::quantize_f32(scale, inverse, self.dtype.little(input, &mut swapped), room);
                self.astype.order(room);
                continue;
            }
            let values = &mut values[..input.len() / from];
            self.dtype.read_floats(input, values);
            self.quantize(values);
            if let Some(at) = self.astype.first_too_large(values) {
                let place = index * PIECE + at;
                let text = format!(
                    "element {place}, {:?}, is larger than any number of type {}",
                    values[at], self.astype
                );
                return Err(CodecError::values(text));
            }
            self.astype.write_floats(values, room);
        }
        Ok(output.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.decoded_len(input)?;
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        if self.dtype == self.astype {
            output.copy_from_slice(input);
            return Ok(output.len());
        }
        let (from, to) = (self.astype.size(), self.dtype.size());
        let mut values = [0.0; PIECE];
        for (input, room) in input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to)) {
            let values = &mut values[..input.len() / from];
            self.astype.read_floats(input, values);
            self.dtype.write_floats(values, room);
        }
        Ok(output.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let size = self.astype.size();
        if !input.len().is_multiple_of(size) {
            let text = format!("{} bytes are not whole numbers of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.dtype.size()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_of_4_bytes_are_quantized_in_their_own_arithmetic_as_in_doubles(
            bits in proptest::collection::vec(prop_oneof![any::<u32>(), 0x3000_0000..0x5000_0000_u32], 1..PIECE),
            digits in -38..=38,
        ) {
            let dtype: Number = "<f4".parse().unwrap();
            let Ok(coder) = QuantizeCoder::new(digits, dtype, dtype) else { return Ok(()) };
            let inverse = coder.inverse as f32;
            prop_assume!(inverse.is_finite());
            let data: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
            let [mut ours, mut wide] = [(); 2].map(|()| vec![0; data.len()]);
            QuantizeCoder::quantize_f32(coder.scale as f32, inverse, &data, &mut ours);
            let mut values = vec![0.0; bits.len()];
            dtype.read_floats(&data, &mut values);
            coder.quantize(&mut values);
            dtype.write_floats(&values, &mut wide);
            prop_assert_eq!(ours, wide);
        }
    }

    #[test]
    fn to_multiply_by_the_inverse_is_to_divide() {
        for digits in -308..=307 {
            let coder = QuantizeCoder::new(digits, Number::DOUBLE, Number::DOUBLE).unwrap();
            assert_eq!((coder.inverse.recip(), coder.scale * coder.inverse), (coder.scale, 1.0), "{digits}");
        }
    }
}
