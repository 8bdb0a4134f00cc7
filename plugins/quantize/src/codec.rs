use ncz_codec::number::PIECE;
use ncz_codec::{CodecError, Coder, Number, Result};

/// Rounds numbers to a power of two when it encodes; decoding only changes their type.
#[derive(Debug, Clone, Copy)]
pub struct QuantizeCoder {
    dtype: Number,
    astype: Number,
    /// By this power of two the numbers are multiplied, rounded and divided.
    scale: f64,
}

impl QuantizeCoder {
    pub(crate) fn new(digits: i32, dtype: Number, astype: Number) -> Result<Self> {
        // The least power of two that is no smaller than 10^digits: what numcodecs has by logarithms.
        let bits = (f64::from(digits) * std::f64::consts::LOG2_10).ceil();
        let scale = dtype.rounded(bits.exp2());
        if scale == 0.0 || !scale.is_finite() {
            let text = format!(
                "2^{bits}, by which the numbers are multiplied, is no {dtype}: numcodecs makes NaN of all"
            );
            return Err(CodecError::config("digits", text));
        }
        Ok(Self { dtype, astype, scale })
    }

    fn quantized(&self, value: f64) -> f64 {
        let scaled = self.dtype.rounded(value * self.scale);
        let quantized = self.dtype.rounded(scaled.round_ties_even() / self.scale);
        // A finite number that is too large to be multiplied has no digits to drop.
        if value.is_finite() && !(scaled.is_finite() && quantized.is_finite()) { value } else { quantized }
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
        for (index, (input, room)) in
            input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to)).enumerate()
        {
            let values = &mut values[..input.len() / from];
            self.dtype.read_floats(input, values);
            for value in &mut *values {
                *value = self.quantized(*value);
            }
            let lost = |value: &f64| value.is_finite() && !self.astype.rounded(*value).is_finite();
            if let Some(at) = values.iter().position(lost) {
                let place = index * PIECE + at;
                let text = format!(
                    "element {place}, {}, is larger than any number of type {}",
                    values[at], self.astype
                );
                return Err(CodecError::unsupported(text));
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
            let text = format!("{} bytes are no whole numbers of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.dtype.size()))
    }
}
