use ncz_codec::number::{PIECE, PIECE_BYTES};
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

    /// Differences of integers. They wrap around, as the sums do.
    fn encode_integers(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        // The sign does not matter for differences.
        match self.dtype.size() {
            1 => self.encode_as(input, output, (u8::from_le_bytes, u8::to_le_bytes), u8::wrapping_sub),
            2 => self.encode_as(input, output, (u16::from_le_bytes, u16::to_le_bytes), u16::wrapping_sub),
            4 => self.encode_as(input, output, (u32::from_le_bytes, u32::to_le_bytes), u32::wrapping_sub),
            _ => self.encode_as(input, output, (u64::from_le_bytes, u64::to_le_bytes), u64::wrapping_sub),
        }
    }

    fn encode_as<const N: usize, T: Copy + Default>(
        &self,
        input: &[u8],
        output: &mut [u8],
        bytes: (impl Fn([u8; N]) -> T, impl Fn(T) -> [u8; N]),
        minus: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let step = |before, value| (value, minus(value, before), true);
        if !self.sum.is_float() && self.astype.size() == N {
            run([self.dtype, self.astype], input, output, T::default(), bytes, step);
            return Ok(());
        }
        let (mut values, mut steps) = ([0; PIECE], [0; PIECE]);
        let (mut swapped, mut differences) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
        let (mut before, mut sum) = (T::default(), Sum::new(self.sum));
        for (start, input, output) in pieces(self.dtype, self.astype, input, output) {
            let differences = &mut differences[..input.len()];
            let little = self.dtype.little(input, &mut swapped);
            run_piece(little, differences, &mut before, &bytes, step);
            // Decoders add the lowest bits of a step, in the type of the differences.
            if !self.sum.is_float()
                && self.astype.size() < N
                && self.dtype.narrow(differences, self.astype, output)
            {
                continue;
            }
            let values = &mut values[..input.len() / N];
            let steps = &mut steps[..values.len()];
            self.dtype.order(differences);
            self.dtype.read_integers(differences, steps);
            if !self.sum.is_float() && self.astype.size() > N {
                self.astype.write_integers(steps, output);
                continue;
            }
            self.dtype.read_integers(input, values);
            if self.sum.is_float() {
                self.encode_steps(start, values, steps, &mut sum, output)?;
            } else if let Some(at) =
                steps.iter().position(|&step| self.dtype.wrapped(self.astype.wrapped(step)) != step)
            {
                return Err(self.lost(start + at, self.dtype.value(values[at])));
            }
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
        let types = [self.dtype, self.astype];
        let is_done = match self.float_size() {
            Some(4) => {
                let bytes = (f32::from_le_bytes, f32::to_le_bytes);
                let step = |before: f32, value: f32| {
                    let step = value - before;
                    (value, step, step.is_finite() | !(value.is_finite() & before.is_finite()))
                };
                run(types, input, output, 0.0, bytes, step)
            }
            Some(8) => {
                let bytes = (f64::from_le_bytes, f64::to_le_bytes);
                let step = |before: f64, value: f64| {
                    let step = value - before;
                    (value, step, step.is_finite() | !(value.is_finite() & before.is_finite()))
                };
                run(types, input, output, 0.0, bytes, step)
            }
            _ => false,
        };
        if is_done { Ok(()) } else { self.encode_floats_of_any_type(input, output) }
    }

    /// The size of floating-point numbers whose differences are of the same type, except for the order of the bytes.
    fn float_size(&self) -> Option<usize> {
        let is_one =
            self.dtype.is_float() && self.astype.is_float() && self.dtype.size() == self.astype.size();
        is_one.then(|| self.dtype.size())
    }

    fn encode_floats_of_any_type(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut steps, mut before) = ([0.0; PIECE], [0.0; PIECE], 0.0);
        let mut integers = [0; PIECE];
        for (start, input, output) in pieces(self.dtype, self.astype, input, output) {
            let values = &mut values[..input.len() / self.dtype.size()];
            let steps = &mut steps[..values.len()];
            self.dtype.read_floats(input, values);
            // The bits of what follows NaN in sums of numbers of 2 bytes depend on the program.
            if self.dtype.size() == 2
                && let Some(at) = values.iter().position(|value| !value.is_finite())
            {
                return Err(CodecError::values(format!(
                    "element {} is {:?}, and programs read different numbers of 2 bytes after it",
                    start + at,
                    values[at]
                )));
            }
            let mut overflow = None;
            for (at, (step, &value)) in steps.iter_mut().zip(&*values).enumerate() {
                *step = self.dtype.rounded(value - before);
                let stored = if self.astype.is_float() { self.astype.rounded(*step) } else { *step };
                if !stored.is_finite() && f64::is_finite(value) && f64::is_finite(before) {
                    overflow = overflow.or(Some(at));
                }
                before = value;
            }
            if self.astype.is_float() {
                self.astype.write_floats(steps, output);
            } else {
                // Fractions are cut off.
                let integers = &mut integers[..steps.len()];
                overflow = self.astype.floats_as_integers(steps, integers);
                self.astype.write_integers(integers, output);
            }
            if let Some(at) = overflow {
                return Err(self.lost(start + at, values[at]));
            }
        }
        Ok(())
    }

    fn decode_integers(&self, input: &[u8], output: &mut [u8]) {
        let (mut values, mut sum) = ([0; PIECE], 0_i64);
        for (_, input, output) in pieces(self.astype, self.dtype, input, output) {
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
        let types = [self.astype, self.dtype];
        match self.float_size() {
            Some(4) => {
                let bytes = (f32::from_le_bytes, f32::to_le_bytes);
                let step = |sum: f32, step| (sum + step, sum + step, true);
                run(types, input, output, -0.0, bytes, step);
                Ok(())
            }
            Some(8) => {
                let bytes = (f64::from_le_bytes, f64::to_le_bytes);
                let step = |sum: f64, step| (sum + step, sum + step, true);
                run(types, input, output, -0.0, bytes, step);
                Ok(())
            }
            _ => self.decode_floats_of_any_type(input, output),
        }
    }

    fn decode_floats_of_any_type(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let mut sum = Sum::new(self.sum);
        for (start, input, output) in pieces(self.astype, self.dtype, input, output) {
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
                let text = format!(
                    "the sum at element {place} is {:?}, which is not a number of type {}",
                    values[at], self.dtype
                );
                return Err(CodecError::corrupt(text));
            }
            self.dtype.write_integers(integers, output);
        }
        Ok(())
    }

    fn lost(&self, at: usize, value: impl std::fmt::Debug) -> CodecError {
        CodecError::values(format!(
            "element {at}, {value:?}, is too far from the one before for differences of type {}, and another number \
             would be read",
            self.astype
        ))
    }
}

/// Reads numbers as `from` and writes them as `to`, in pieces: the elements before the piece, its bytes, its output.
fn pieces<'a>(
    from: Number,
    to: Number,
    input: &'a [u8],
    output: &'a mut [u8],
) -> impl Iterator<Item = (usize, &'a [u8], &'a mut [u8])> {
    let pieces = input.chunks(PIECE * from.size()).zip(output.chunks_mut(PIECE * to.size()));
    pieces.enumerate().map(|(index, (input, output))| (index * PIECE, input, output))
}

/// Processes numbers of one type in either byte order: from the state and a number, `step` returns the next state, the
/// output, and whether it is valid. Returns whether all were valid.
fn run<const N: usize, T: Copy, S: Copy>(
    [from, to]: [Number; 2],
    input: &[u8],
    output: &mut [u8],
    mut left: S,
    bytes: (impl Fn([u8; N]) -> T, impl Fn(T) -> [u8; N]),
    step: impl Fn(S, T) -> (S, T, bool),
) -> bool {
    let mut swapped = [0; PIECE_BYTES];
    pieces(from, to, input, output).fold(true, |all, (_, input, output)| {
        let input = from.little(input, &mut swapped);
        let is_good = run_piece(input, output, &mut left, &bytes, &step);
        to.order(output);
        all & is_good
    })
}

/// The same with a piece of little-endian numbers.
fn run_piece<const N: usize, T: Copy, S: Copy>(
    input: &[u8],
    output: &mut [u8],
    left: &mut S,
    (read, write): &(impl Fn([u8; N]) -> T, impl Fn(T) -> [u8; N]),
    step: impl Fn(S, T) -> (S, T, bool),
) -> bool {
    let (mut last, mut all) = (*left, true);
    for (room, bytes) in output.as_chunks_mut().0.iter_mut().zip(input.as_chunks().0) {
        let (next, written, is_good) = step(last, read(*bytes));
        *room = write(written);
        all &= is_good;
        last = next;
    }
    *left = last;
    all
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
            let text = format!("{} bytes are not whole differences of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.dtype.size()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLOATS: [&str; 4] = ["<f4", ">f4", "<f8", ">f8"];

    proptest! {
        #[test]
        fn floats_in_their_own_arithmetic_are_those_in_doubles(
            bits in proptest::collection::vec(any::<u64>(), 1..3000),
            has_any in prop::bool::weighted(0.3),
            dtype in proptest::sample::select(&FLOATS[..]),
            is_other_order in any::<bool>(),
        ) {
            let dtype: Number = dtype.parse().unwrap();
            let other = format!("{}f{}", if dtype.to_string().starts_with('<') { '>' } else { '<' }, dtype.size());
            let coder = DeltaCoder::new(dtype, if is_other_order { other.parse().unwrap() } else { dtype });
            // Any there are, or none that is too far from the others.
            let values = bits.iter().map(|&bits| {
                f64::from_bits(if has_any { bits } else { bits & !(0x7 << 60) | 0x3 << 60 })
            });
            let mut data = vec![0; bits.len() * dtype.size()];
            dtype.write_floats(&values.collect::<Vec<_>>(), &mut data);
            let [mut own, mut doubles, mut own_back, mut doubles_back] = [(); 4].map(|()| vec![0; data.len()]);
            let result = coder.encode_floats(&data, &mut own);
            prop_assert_eq!(&result, &coder.encode_floats_of_any_type(&data, &mut doubles));
            if result.is_ok() {
                prop_assert_eq!(&own, &doubles);
            }
            for stream in [&own, &data] {
                coder.decode_floats(stream, &mut own_back).unwrap();
                coder.decode_floats_of_any_type(stream, &mut doubles_back).unwrap();
                prop_assert_eq!(&own_back, &doubles_back);
            }
        }
    }
}
