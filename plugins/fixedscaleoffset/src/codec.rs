mod at_once;

use ncz_codec::number::{PIECE, round_ties_even};
use ncz_codec::{CodecError, Coder, Number, Result};

use crate::factor::Factor;

/// Subtracts, multiplies and rounds; divides and adds.
#[derive(Debug, Clone)]
pub struct FixedScaleOffsetCoder {
    dtype: Number,
    astype: Number,
    /// Factors that the type of the data cannot hold do no harm to what is stored.
    arithmetic: Result<Arithmetic>,
    back: Back,
    /// Between these two every stored number is read as a number of the type of the data.
    readable: [f64; 2],
}

/// The arithmetic of numpy's encoder, by the types of the data and of the factors.
#[derive(Debug, Clone, Copy)]
enum Arithmetic {
    /// All in integers of the type of the data.
    Integers { offset: i64, scale: i64 },
    /// The difference in such integers, the product in doubles.
    Mixed { offset: i64, scale: f64 },
    /// All in floating-point numbers: of the type of the data, or doubles if that is one of integers.
    Floats(Floats),
}

/// Factors rounded to the type that is computed in.
#[derive(Debug, Clone, Copy)]
struct Floats {
    number: Number,
    offset: f64,
    scale: f64,
}

/// The arithmetic of numpy's decoder: in the stored type, or in doubles if that is an integer type.
#[derive(Debug, Clone, Copy)]
struct Back(Floats);

impl Arithmetic {
    /// # Errors
    /// Factors that the type of the data cannot hold: numpy refuses them or computes with 0 or infinity.
    fn new(offset: Factor, scale: Factor, dtype: Number) -> Result<Self> {
        let within = |key, factor: i64| {
            let text = format!("{factor} is not a number of type {dtype}, in which numpy computes with it");
            dtype.integer(factor.into()).map(|_| factor).ok_or_else(|| CodecError::config(key, text))
        };
        Ok(match (dtype.is_float(), offset, scale) {
            (false, Factor::Integer(offset), Factor::Integer(scale)) => {
                Self::Integers { offset: within("offset", offset)?, scale: within("scale", scale)? }
            }
            (false, Factor::Integer(offset), Factor::Float(scale)) => {
                Self::Mixed { offset: within("offset", offset)?, scale }
            }
            _ => Self::Floats(Floats::new(offset, scale, dtype)?),
        })
    }
}

impl FixedScaleOffsetCoder {
    /// # Errors
    /// Factors that the stored type cannot hold: numpy refuses them or computes with 0 or infinity.
    pub(crate) fn new(offset: Factor, scale: Factor, dtype: Number, astype: Number) -> Result<Self> {
        let arithmetic = Arithmetic::new(offset, scale, dtype);
        let back = Floats::new(offset, scale, astype)?;
        let is_readable = |&stored: &f64| {
            let value = back.decode(stored);
            if dtype.is_float() {
                dtype.rounded(value).is_finite()
            } else {
                dtype.float_as_integer(value).is_some()
            }
        };
        // A number between two numbers is decoded to one between their decoded numbers. NaN, which is never between, if
        // a limit is not found.
        let readable = Self::ends(astype).map(|end| {
            let mut nearer = std::iter::successors(Some(end), |end| Some(end / 2.0)).take(2048);
            nearer.find(is_readable).unwrap_or(f64::NAN)
        });
        Ok(Self { dtype, astype, arithmetic, back: Back(back), readable })
    }

    /// The least number of a type and the greatest, or a little more.
    fn ends(number: Number) -> [f64; 2] {
        let bits = 8 * number.size() as i32;
        match (number.is_float(), number.is_unsigned(), bits) {
            (true, _, 16) => [-65_504.0, 65_504.0],
            (true, _, 32) => [f64::from(f32::MIN), f64::from(f32::MAX)],
            (true, ..) => [f64::MIN, f64::MAX],
            (_, true, _) => [0.0, 2_f64.powi(bits) - 1.0],
            _ => [-(2_f64.powi(bits - 1)), 2_f64.powi(bits - 1) - 1.0],
        }
    }

    /// Returns numpy's integer arithmetic on integers, as the stored numbers; an error is the index of the first that
    /// would be lost.
    fn encode_whole(&self, offset: i64, scale: i64, integers: &mut [i64]) -> Option<usize> {
        integers.iter_mut().position(|bits| {
            let true_product = (self.dtype.value(*bits) - i128::from(offset)) * i128::from(scale);
            // It can wrap around and back when it is stored.
            *bits = self.dtype.wrapped(true_product as i64);
            if self.astype.is_float() {
                return self.dtype.value(*bits) != true_product;
            }
            *bits = self.astype.wrapped(*bits);
            self.astype.value(*bits) != true_product
        })
    }

    /// The same if no product is wider than `i64`; returns false, without a result, if one is or if a number would
    /// be lost.
    fn encode_narrow(&self, offset: i64, scale: i64, integers: &mut [i64]) -> bool {
        let is_narrow = self.dtype.size() <= 4 && scale.unsigned_abs() <= 1 << 31;
        if !is_narrow || self.astype.is_float() || self.astype.size() == 8 {
            return false;
        }
        // The range that both types have: offset by the least number, the numbers without a bit above its width.
        let value_bits = |number: Number| 8 * number.size() - usize::from(!number.is_unsigned());
        let mut held = value_bits(self.dtype).min(value_bits(self.astype));
        let mut least = 0;
        if !self.dtype.is_unsigned() && !self.astype.is_unsigned() {
            least = 1 << held;
            held += 1;
        }
        let mut all = 0;
        for bits in integers {
            *bits = (*bits - offset) * scale;
            all |= bits.wrapping_add(least);
        }
        all as u64 >> held == 0
    }

    /// Writes floating-point numbers in the stored type; an error is the index of the first that it cannot hold.
    fn store(&self, floats: &[f64], integers: &mut [i64], room: &mut [u8]) -> Option<usize> {
        if self.astype.is_float() {
            self.astype.write_floats(floats, room);
            return self.astype.first_too_large(floats);
        }
        let lost = self.astype.floats_as_integers(floats, integers);
        self.astype.write_integers(integers, room);
        lost
    }

    /// Encodes a piece; an error is the index of the first number that would be lost.
    fn encode_piece(&self, arithmetic: Arithmetic, input: &[u8], room: &mut [u8]) -> Option<usize> {
        let (mut floats, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let floats = &mut floats[..input.len() / self.dtype.size()];
        let integers = &mut integers[..floats.len()];
        if let (Arithmetic::Floats(arithmetic), true) = (arithmetic, self.dtype.is_float()) {
            self.dtype.read_floats(input, floats);
            if arithmetic.encode_all(floats) {
                self.dtype.read_floats(input, floats);
                return floats
                    .iter()
                    .position(|value| value.is_finite() && !arithmetic.encode(*value).is_finite());
            }
            return self.store(floats, integers, room);
        }
        self.dtype.read_integers(input, integers);
        match arithmetic {
            Arithmetic::Integers { offset, scale } => {
                if !self.encode_narrow(offset, scale, integers) {
                    self.dtype.read_integers(input, integers);
                    if let Some(at) = self.encode_whole(offset, scale, integers) {
                        return Some(at);
                    }
                }
                if !self.astype.is_float() {
                    self.astype.write_integers(integers, room);
                    return None;
                }
                for (float, &bits) in floats.iter_mut().zip(&*integers) {
                    *float = self.dtype.integer_as_float(bits, self.astype);
                }
                self.astype.write_floats(floats, room);
                floats.iter().position(|float| !float.is_finite())
            }
            Arithmetic::Mixed { offset, scale } => {
                for (at, (float, &bits)) in floats.iter_mut().zip(&*integers).enumerate() {
                    let difference = self.dtype.value(bits) - i128::from(offset);
                    let Some(difference) = self.dtype.integer(difference) else { return Some(at) };
                    let difference = self.dtype.integer_as_float(difference, Number::DOUBLE);
                    *float = round_ties_even(difference * scale);
                }
                self.store(floats, integers, room)
            }
            Arithmetic::Floats(arithmetic) => {
                for (float, &bits) in floats.iter_mut().zip(&*integers) {
                    *float = self.dtype.integer_as_float(bits, arithmetic.number);
                }
                arithmetic.encode_all(floats);
                self.store(floats, integers, room)
            }
        }
    }

    /// Makes the error for the number at index `at` of `piece`, which begins with number `start`.
    fn lost(&self, start: usize, at: usize, piece: &[u8]) -> CodecError {
        let bytes = &piece[at * self.dtype.size()..][..self.dtype.size()];
        let value = if self.dtype.is_float() {
            let mut value = [0.0];
            self.dtype.read_floats(bytes, &mut value);
            format!("{:?}", value[0])
        } else {
            let mut bits = [0];
            self.dtype.read_integers(bytes, &mut bits);
            self.dtype.value(bits[0]).to_string()
        };
        CodecError::values(format!(
            "element {}, {value}, cannot be kept as {} with this offset and scale, and another number would be read",
            start + at,
            self.astype
        ))
    }

    /// The numbers that are read of what is stored, before they get the type of the data.
    fn read_back(&self, input: &[u8], values: &mut [f64], integers: &mut [i64]) {
        self.read_stored(input, values, integers);
        self.back.0.decode_all(values);
    }

    /// The stored numbers, in the type in which decoders compute.
    fn read_stored(&self, input: &[u8], values: &mut [f64], integers: &mut [i64]) {
        let Back(floats) = self.back;
        if self.astype.is_float() {
            self.astype.read_floats(input, values);
        } else {
            self.astype.read_integers(input, integers);
            self.astype.integers_as_floats(integers, floats.number, values);
        }
    }

    /// Returns the index of the first number of `piece` whose `stored` value cannot be decoded: out of range, or
    /// infinity.
    fn unreadable(&self, piece: &[u8], stored: &[u8]) -> Option<usize> {
        let (mut values, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let values = &mut values[..piece.len() / self.dtype.size()];
        let integers = &mut integers[..values.len()];
        if !self.astype.is_float() && self.readable == Self::ends(self.astype) {
            return None;
        }
        self.read_stored(stored, values, integers);
        let [least, most] = self.readable;
        if values.iter().fold(true, |all, &value| all & (value >= least) & (value <= most)) {
            return None;
        }
        self.read_back(stored, values, integers);
        if !self.dtype.is_float() {
            return self.dtype.floats_as_integers(values, integers);
        }
        let mut before = [0.0; PIECE];
        self.dtype.read_floats(piece, &mut before[..values.len()]);
        let lost =
            |(value, before): (&f64, &f64)| before.is_finite() && !self.dtype.rounded(*value).is_finite();
        values.iter().zip(&before).position(lost)
    }

    fn decode_piece(&self, start: usize, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (mut values, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let values = &mut values[..input.len() / self.astype.size()];
        let integers = &mut integers[..values.len()];
        self.read_back(input, values, integers);
        if self.dtype.is_float() {
            self.dtype.write_floats(values, output);
            return Ok(());
        }
        if let Some(at) = self.dtype.floats_as_integers(values, integers) {
            let text = format!("element {} is {:?}, which no {} is", start + at, values[at], self.dtype);
            return Err(CodecError::corrupt(text));
        }
        self.dtype.write_integers(integers, output);
        Ok(())
    }
}

impl Floats {
    fn new(offset: Factor, scale: Factor, number: Number) -> Result<Self> {
        let number = if number.is_float() { number } else { Number::DOUBLE };
        let held = |key, factor: Factor| {
            let float = number.rounded(factor.float());
            // An offset that vanishes is harmless.
            if float.is_finite() && (key == "offset" || float != 0.0) {
                return Ok(float);
            }
            let text = format!("{factor} becomes {float} as {number}, in which numpy computes with it");
            Err(CodecError::config(key, text))
        };
        Ok(Self { number, offset: held("offset", offset)?, scale: held("scale", scale)? })
    }

    fn encode(&self, value: f64) -> f64 {
        let difference = self.number.rounded(value - self.offset);
        round_ties_even(self.number.rounded(difference * self.scale))
    }

    fn decode(&self, value: f64) -> f64 {
        let quotient = self.number.rounded(value / self.scale);
        self.number.rounded(quotient + self.offset)
    }

    /// Encodes all numbers; returns whether a finite number became another.
    fn encode_all(&self, values: &mut [f64]) -> bool {
        let Self { offset, scale, .. } = *self;
        // One loop for each type, in which the choice is made.
        match self.number.size() {
            4 => encode_in(values, offset, scale, |value| f64::from(value as f32)),
            8 => encode_in(values, offset, scale, |value| value),
            _ => encode_in(values, offset, scale, |value| self.number.rounded(value)),
        }
    }

    fn decode_all(&self, values: &mut [f64]) {
        let Self { offset, scale, .. } = *self;
        match self.number.size() {
            4 => decode_in(values, offset, scale, |value| f64::from(value as f32)),
            8 => decode_in(values, offset, scale, |value| value),
            _ => decode_in(values, offset, scale, |value| self.number.rounded(value)),
        }
    }
}

fn encode_in(values: &mut [f64], offset: f64, scale: f64, rounded: impl Fn(f64) -> f64) -> bool {
    let mut lost = false;
    for value in values {
        let encoded = round_ties_even(rounded(rounded(*value - offset) * scale));
        lost |= value.is_finite() & !encoded.is_finite();
        *value = encoded;
    }
    lost
}

fn decode_in(values: &mut [f64], offset: f64, scale: f64, rounded: impl Fn(f64) -> f64) {
    for value in values {
        *value = rounded(rounded(*value / scale) + offset);
    }
}

impl Coder for FixedScaleOffsetCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        (len / self.dtype.size()).checked_mul(self.astype.size())
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let arithmetic = *self.arithmetic.as_ref().map_err(Clone::clone)?;
        self.dtype.count(input.len())?;
        let need = self.max_encoded_len(input.len());
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let (from, to) = (self.dtype.size(), self.astype.size());
        let pieces = input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to));
        for (index, (piece, room)) in pieces.enumerate() {
            if self.encode_at_once(arithmetic, piece, room) {
                continue;
            }
            let lost = self.encode_piece(arithmetic, piece, room).or_else(|| self.unreadable(piece, room));
            if let Some(at) = lost {
                return Err(self.lost(index * PIECE, at, piece));
            }
        }
        Ok(output.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.decoded_len(input)?;
        let output =
            need.and_then(|need| output.get_mut(..need)).ok_or_else(|| CodecError::output_full(need))?;
        let (from, to) = (self.astype.size(), self.dtype.size());
        let pieces = input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to));
        for (index, (input, output)) in pieces.enumerate() {
            self.decode_piece(index * PIECE, input, output)?;
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

    const TYPES: [&str; 12] =
        ["|i1", "|u1", "<i2", ">u2", ">i4", "<u4", "<i8", "<f2", "<f4", ">f4", "<f8", ">f8"];

    proptest! {
        #[test]
        fn integers_in_narrow_arithmetic_are_those_in_wide(
            bits in proptest::collection::vec(any::<i64>(), 1..100),
            most_bits in 1..64_u32,
            offset in any::<i64>(),
            scale in prop_oneof![-3..3_i64, any::<i64>()],
            dtype in proptest::sample::select(&TYPES[..6]),
            astype in proptest::sample::select(&TYPES[..6]),
        ) {
            let (dtype, astype): (Number, Number) = (dtype.parse().unwrap(), astype.parse().unwrap());
            let of = |bits: i64| dtype.wrapped(bits >> (64 - most_bits));
            let (offset, scale) = (of(offset), dtype.wrapped(scale));
            let factors = (Factor::Integer(offset), Factor::Integer(scale));
            let Ok(coder) = FixedScaleOffsetCoder::new(factors.0, factors.1, dtype, astype) else { return Ok(()) };
            let mut wide: Vec<i64> = bits.iter().map(|&bits| of(bits)).collect();
            let mut narrow = wide.clone();
            let is_done = coder.encode_narrow(offset, scale, &mut narrow);
            let lost = coder.encode_whole(offset, scale, &mut wide);
            if is_done {
                prop_assert_eq!(lost, None);
                prop_assert_eq!(narrow, wide);
            } else if dtype.is_unsigned() == astype.is_unsigned() && scale.unsigned_abs() <= 1 << 31 {
                // If one type is signed, a number that wraps around can wrap back.
                prop_assert!(lost.is_some());
            }
        }

        #[test]
        fn between_readable_numbers_all_are_read(
            bits in proptest::collection::vec(any::<u64>(), 1..100),
            offset in prop_oneof![Just(0.0), -300.0..300.0, Just(1e30)],
            scale in prop_oneof![Just(1.0), Just(-0.5), 1e-3..300.0, Just(1e-37)],
            dtype in proptest::sample::select(&TYPES[..]),
            astype in proptest::sample::select(&TYPES[..]),
        ) {
            let (dtype, astype): (Number, Number) = (dtype.parse().unwrap(), astype.parse().unwrap());
            let factors = (Factor::Float(offset), Factor::Float(scale));
            let Ok(coder) = FixedScaleOffsetCoder::new(factors.0, factors.1, dtype, astype) else { return Ok(()) };
            let mut stored = vec![0; bits.len() * astype.size()];
            let integers: Vec<i64> = bits.iter().map(|&bits| bits as i64).collect();
            if astype.is_float() {
                let values: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
                astype.write_floats(&values, &mut stored);
            } else {
                astype.write_integers(&integers, &mut stored);
            }
            let [least, most] = coder.readable;
            let (mut values, mut integers) = (vec![0.0; bits.len()], integers);
            coder.read_stored(&stored, &mut values, &mut integers);
            for value in values.into_iter().filter(|&value| value >= least && value <= most) {
                let mut back = [value];
                coder.back.0.decode_all(&mut back);
                let is_read = if dtype.is_float() {
                    dtype.rounded(back[0]).is_finite()
                } else {
                    dtype.float_as_integer(back[0]).is_some()
                };
                prop_assert!(is_read, "{value} {back:?}");
            }
        }
    }
}
