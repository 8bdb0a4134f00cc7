use ncz_codec::number::PIECE;
use ncz_codec::{CodecError, Coder, Number, Result};

/// Subtracts from each number the one before, and adds them up again.
#[derive(Debug, Clone, Copy)]
pub struct DeltaCoder {
    dtype: Number,
    astype: Number,
    /// In which decoders add up.
    sum: Number,
}

/// Adds up as decoders do, in floating-point numbers of the type of the sum.
#[derive(Clone, Copy)]
struct Sum {
    number: Number,
    value: f64,
}

impl DeltaCoder {
    pub(crate) fn new(dtype: Number, astype: Number) -> Self {
        Self { dtype, astype, sum: dtype.promoted(astype) }
    }

    /// What is read as `from` and written as `to`, in pieces: the elements before the piece, its bytes, its room.
    fn pieces<'a>(
        from: Number,
        to: Number,
        input: &'a [u8],
        output: &'a mut [u8],
    ) -> impl Iterator<Item = (usize, &'a [u8], &'a mut [u8])> {
        let pieces = input.chunks(PIECE * from.size()).zip(output.chunks_mut(PIECE * to.size()));
        pieces.enumerate().map(|(index, (input, output))| (index * PIECE, input, output))
    }

    /// Differences of integers. They wrap around, as the sums do.
    fn encode_integers(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut steps, mut before) = ([0; PIECE], [0; PIECE], 0);
        let mut sum = Sum::new(self.sum);
        for (start, input, output) in Self::pieces(self.dtype, self.astype, input, output) {
            let values = &mut values[..input.len() / self.dtype.size()];
            let steps = &mut steps[..values.len()];
            self.dtype.read_integers(input, values);
            for (step, &value) in steps.iter_mut().zip(&*values) {
                *step = self.dtype.wrapped(value.wrapping_sub(before));
                before = value;
            }
            if self.sum.is_float() {
                self.encode_steps(start, values, steps, &mut sum, output)?;
                continue;
            }
            // What decoders add is the lowest bits of a step, in the type of the differences.
            let lost = |&step: &i64| self.dtype.wrapped(self.astype.wrapped(step)) != step;
            if let Some(at) = steps.iter().position(lost) {
                return Err(self.lost(start + at, self.dtype.value(values[at])));
            }
            self.astype.write_integers(steps, output);
        }
        Ok(())
    }

    /// Differences of integers that decoders add up in floating-point numbers: each sum must be exact.
    fn encode_steps(
        &self,
        start: usize,
        values: &[i64],
        steps: &[i64],
        sum: &mut Sum,
        output: &mut [u8],
    ) -> Result<()> {
        for (at, ((&value, &step), room)) in
            values.iter().zip(steps).zip(output.chunks_mut(self.astype.size())).enumerate()
        {
            let added = if self.astype.is_float() {
                let step = self.dtype.integer_as_float(step, self.astype);
                self.astype.write_floats(&[step], room);
                sum.add(step)
            } else {
                let step = self.astype.wrapped(step);
                self.astype.write_integers(&[step], room);
                sum.add(self.astype.integer_as_float(step, self.sum))
            };
            if self.dtype.float_as_integer(added) != Some(value) {
                return Err(self.lost(start + at, self.dtype.value(value)));
            }
        }
        Ok(())
    }

    fn encode_floats(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut steps, mut before) = ([0.0; PIECE], [0.0; PIECE], 0.0);
        let mut integers = [0; PIECE];
        for (start, input, output) in Self::pieces(self.dtype, self.astype, input, output) {
            let values = &mut values[..input.len() / self.dtype.size()];
            let steps = &mut steps[..values.len()];
            self.dtype.read_floats(input, values);
            for (step, &value) in steps.iter_mut().zip(&*values) {
                *step = self.dtype.rounded(value - before);
                before = value;
            }
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                return Err(CodecError::unsupported(format!(
                    "element {} is {}, behind which no sum of differences is a number",
                    start + at,
                    values[at]
                )));
            }
            if self.astype.is_float() {
                if let Some(at) = steps.iter().position(|&step| !self.astype.rounded(step).is_finite()) {
                    return Err(self.lost(start + at, values[at]));
                }
                self.astype.write_floats(steps, output);
                continue;
            }
            let integers = &mut integers[..steps.len()];
            if let Some(at) = self.astype.floats_as_integers(steps, integers) {
                return Err(self.lost(start + at, values[at]));
            }
            self.astype.write_integers(integers, output);
        }
        Ok(())
    }

    fn decode_integers(&self, input: &[u8], output: &mut [u8]) {
        let (mut values, mut sum) = ([0; PIECE], 0_i64);
        for (_, input, output) in Self::pieces(self.astype, self.dtype, input, output) {
            let values = &mut values[..input.len() / self.astype.size()];
            self.astype.read_integers(input, values);
            for value in &mut *values {
                sum = sum.wrapping_add(*value);
                *value = sum;
            }
            self.dtype.write_integers(values, output);
        }
    }

    fn decode_floats(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let mut sum = Sum::new(self.sum);
        for (start, input, output) in Self::pieces(self.astype, self.dtype, input, output) {
            let values = &mut values[..input.len() / self.astype.size()];
            let integers = &mut integers[..values.len()];
            if self.astype.is_float() {
                self.astype.read_floats(input, values);
            } else {
                self.astype.read_integers(input, integers);
                for (value, &integer) in values.iter_mut().zip(&*integers) {
                    *value = self.astype.integer_as_float(integer, self.sum);
                }
            }
            for value in &mut *values {
                *value = sum.add(*value);
            }
            if self.dtype.is_float() {
                self.dtype.write_floats(values, output);
                continue;
            }
            if let Some(at) = self.dtype.floats_as_integers(values, integers) {
                let place = start + at;
                let text =
                    format!("the sum at element {place} is {}, which no {} is", values[at], self.dtype);
                return Err(CodecError::corrupt(text));
            }
            self.dtype.write_integers(integers, output);
        }
        Ok(())
    }

    fn lost(&self, at: usize, value: impl std::fmt::Display) -> CodecError {
        CodecError::unsupported(format!(
            "element {at}, {value}, is too far from the one before for differences of type {}, and another number \
             would be read",
            self.astype
        ))
    }
}

impl Sum {
    /// The sum of nothing: minus zero, to which zero adds up to zero, and minus zero to minus zero.
    fn new(number: Number) -> Self {
        Self { number, value: -0.0 }
    }

    fn add(&mut self, value: f64) -> f64 {
        self.value = self.number.rounded(self.value + value);
        self.value
    }
}

impl Coder for DeltaCoder {
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
        if self.dtype.is_float() {
            self.encode_floats(input, output)?;
        } else {
            self.encode_integers(input, output)?;
        }
        Ok(output.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.decoded_len(input)?;
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        if self.sum.is_float() {
            self.decode_floats(input, output)?;
        } else {
            self.decode_integers(input, output);
        }
        Ok(output.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let size = self.astype.size();
        if !input.len().is_multiple_of(size) {
            let text = format!("{} bytes are no whole differences of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.dtype.size()))
    }
}
