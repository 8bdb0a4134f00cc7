use ncz_codec::number::PIECE;
use ncz_codec::{CodecError, Coder, Number, Result};

/// Subtracts and multiplies; divides and adds.
#[derive(Debug, Clone, Copy)]
pub struct ScaleOffsetCoder {
    number: Number,
    factors: Factors,
}

/// The factors, as the type has them.
#[derive(Debug, Clone, Copy)]
enum Factors {
    Integers { offset: i128, scale: i128 },
    Floats { offset: f64, scale: f64 },
}

impl ScaleOffsetCoder {
    /// `offset` and `scale` are bits of this type.
    pub(crate) fn integers(number: Number, offset: i64, scale: i64) -> Self {
        let factors = Factors::Integers { offset: number.value(offset), scale: number.value(scale) };
        Self { number, factors }
    }

    pub(crate) fn floats(number: Number, offset: f64, scale: f64) -> Self {
        Self { number, factors: Factors::Floats { offset, scale } }
    }

    /// The fill value as elements are encoded.
    pub(crate) fn encode_fill(&self, fill: &[u8]) -> Result<Vec<u8>> {
        if fill.len() != self.number.size() {
            return Err(CodecError::size(self.number.size(), fill.len(), "the fill value"));
        }
        let mut encoded = vec![0; fill.len()];
        match self.encode_piece(fill, &mut encoded) {
            None => Ok(encoded),
            Some(_) => Err(CodecError::unsupported(format!(
                "the fill value {} less the offset, times the scale, is out of the range of {}; choose another fill value, or \
                 other factors",
                self.shown(fill),
                self.number.v3()
            ))),
        }
    }

    /// Returns the index of the first number whose encoding is outside the type.
    fn encode_piece(&self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        match self.factors {
            Factors::Integers { offset, scale } => {
                let mut bits = [0; PIECE];
                let bits = &mut bits[..input.len() / self.number.size()];
                self.number.read_integers(input, bits);
                let lost = bits.iter_mut().position(|bits| {
                    let difference = self.number.integer(self.number.value(*bits) - offset);
                    let product = difference.and_then(|bits| self.number.value(bits).checked_mul(scale));
                    match product.and_then(|product| self.number.integer(product)) {
                        Some(product) => *bits = product,
                        None => return true,
                    }
                    false
                });
                self.number.write_integers(bits, output);
                lost
            }
            Factors::Floats { offset, scale } => self.each_float(input, output, |value| {
                let difference = self.number.rounded(value - offset);
                self.number.rounded(difference * scale)
            }),
        }
    }

    /// Returns the index of the first number whose decoding is outside the type. Integers are computed exactly, and
    /// only the result must be within the type.
    fn decode_piece(&self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        match self.factors {
            Factors::Integers { offset, scale } => {
                let mut bits = [0; PIECE];
                let bits = &mut bits[..input.len() / self.number.size()];
                self.number.read_integers(input, bits);
                let lost = bits.iter_mut().position(|bits| {
                    let value = self.number.value(*bits);
                    let whole = value % scale == 0;
                    match self.number.integer(value / scale + offset).filter(|_| whole) {
                        Some(sum) => *bits = sum,
                        None => return true,
                    }
                    false
                });
                self.number.write_integers(bits, output);
                lost
            }
            Factors::Floats { offset, scale } => self.each_float(input, output, |value| {
                let quotient = self.number.rounded(value / scale);
                self.number.rounded(quotient + offset)
            }),
        }
    }

    /// Computes each number; returns the index of the first finite number whose result is not finite.
    fn each_float(&self, input: &[u8], output: &mut [u8], compute: impl Fn(f64) -> f64) -> Option<usize> {
        let mut values = [0.0; PIECE];
        let values = &mut values[..input.len() / self.number.size()];
        self.number.read_floats(input, values);
        let mut lost = false;
        for value in &mut *values {
            let computed = compute(*value);
            lost |= value.is_finite() & !computed.is_finite();
            *value = computed;
        }
        self.number.write_floats(values, output);
        if !lost {
            return None;
        }
        self.number.read_floats(input, values);
        values.iter().position(|&value| value.is_finite() && !compute(value).is_finite())
    }

    /// The number at the start of `bytes`, for messages.
    fn shown(&self, bytes: &[u8]) -> String {
        let bytes = &bytes[..self.number.size()];
        if self.number.is_float() {
            let mut value = [0.0];
            self.number.read_floats(bytes, &mut value);
            // The shortest text of a narrow number is that in its own type.
            return if self.number.size() <= 4 {
                (value[0] as f32).to_string()
            } else {
                value[0].to_string()
            };
        }
        let mut bits = [0];
        self.number.read_integers(bytes, &mut bits);
        self.number.value(bits[0]).to_string()
    }

    /// Runs `piece` over all pieces; `fault` makes an error of the first number that is refused, and its index.
    fn all(
        &self,
        input: &[u8],
        output: &mut [u8],
        piece: impl Fn(&[u8], &mut [u8]) -> Option<usize>,
        fault: impl Fn(usize, String) -> CodecError,
    ) -> Result<usize> {
        let len = self.whole(input)?;
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let bytes = PIECE * self.number.size();
        for (index, (input, output)) in input.chunks(bytes).zip(output.chunks_mut(bytes)).enumerate() {
            if let Some(at) = piece(input, output) {
                return Err(fault(index * PIECE + at, self.shown(&input[at * self.number.size()..])));
            }
        }
        Ok(len)
    }

    fn whole(&self, input: &[u8]) -> Result<usize> {
        if input.len().is_multiple_of(self.number.size()) {
            return Ok(input.len());
        }
        let text = format!("{} bytes are not whole numbers of type {}", input.len(), self.number.v3());
        Err(CodecError::truncated(text))
    }
}

impl Coder for ScaleOffsetCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let name = self.number.v3();
        self.all(input, output, |input, output| self.encode_piece(input, output), |at, value| {
            CodecError::values(format!(
                "element {at} is {value}, of which the offset and the scale make a number out of the range of {name}; choose \
                 other factors"
            ))
        })
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let name = self.number.v3();
        self.all(input, output, |input, output| self.decode_piece(input, output), |at, value| {
            CodecError::corrupt(format!(
                "element {at} is stored as {value}, which by the scale and the offset means no number of type {name}"
            ))
        })
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        self.whole(input).map(Some)
    }
}
