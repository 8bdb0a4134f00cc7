use ncz_codec::number::PIECE;
use ncz_codec::{CodecError, Coder, Number, Result};

use crate::factor::Factor;

/// Subtracts, multiplies and rounds; divides and adds.
#[derive(Debug, Clone, Copy)]
pub struct FixedScaleOffsetCoder {
    dtype: Number,
    astype: Number,
    way: Way,
    back: Back,
}

/// How numpy encodes, by the types of the data and of the factors.
#[derive(Debug, Clone, Copy)]
enum Way {
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

/// How numpy decodes: in the stored type, or in doubles if that is one of integers.
#[derive(Debug, Clone, Copy)]
struct Back(Floats);

impl FixedScaleOffsetCoder {
    /// # Errors
    /// Factors that the types cannot hold: numpy refuses them or computes with 0 or infinity.
    pub(crate) fn new(offset: Factor, scale: Factor, dtype: Number, astype: Number) -> Result<Self> {
        let way = match (dtype.is_float(), offset, scale) {
            (false, Factor::Integer(offset), scale) => {
                let within = |key, factor: i64| {
                    let text =
                        format!("{factor} is no number of type {dtype}, in which numpy computes with it");
                    dtype.integer(factor.into()).map(|_| factor).ok_or_else(|| CodecError::config(key, text))
                };
                let offset = within("offset", offset)?;
                match scale {
                    Factor::Integer(scale) => Way::Integers { offset, scale: within("scale", scale)? },
                    Factor::Float(scale) => Way::Mixed { offset, scale },
                }
            }
            _ => Way::Floats(Floats::new(offset, scale, dtype)?),
        };
        Ok(Self { dtype, astype, way, back: Back(Floats::new(offset, scale, astype)?) })
    }

    /// What numpy makes of integers in integers, as what is stored; or the place of the first that would be lost.
    fn encode_whole(&self, offset: i64, scale: i64, integers: &mut [i64]) -> Option<usize> {
        integers.iter_mut().position(|bits| {
            let true_product = (self.dtype.value(*bits) - i128::from(offset)) * i128::from(scale);
            // It may wrap around and come back when it is stored.
            *bits = self.dtype.wrapped(true_product as i64);
            if self.astype.is_float() {
                return self.dtype.value(*bits) != true_product;
            }
            *bits = self.astype.wrapped(*bits);
            self.astype.value(*bits) != true_product
        })
    }

    /// Writes floating-point numbers in the stored type, or gives the place of the first that it cannot hold.
    fn store(&self, floats: &[f64], integers: &mut [i64], room: &mut [u8]) -> Option<usize> {
        if self.astype.is_float() {
            self.astype.write_floats(floats, room);
            return floats
                .iter()
                .position(|&float| float.is_finite() && !self.astype.rounded(float).is_finite());
        }
        let lost = self.astype.floats_as_integers(floats, integers);
        self.astype.write_integers(integers, room);
        lost
    }

    /// Encodes a piece, or gives the place of the first number that would be lost.
    fn encode_piece(&self, input: &[u8], room: &mut [u8]) -> Option<usize> {
        let (mut floats, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let floats = &mut floats[..input.len() / self.dtype.size()];
        let integers = &mut integers[..floats.len()];
        if let (Way::Floats(way), true) = (self.way, self.dtype.is_float()) {
            self.dtype.read_floats(input, floats);
            let mut lost = false;
            for value in &mut *floats {
                let encoded = way.encode(*value);
                lost |= value.is_finite() & !encoded.is_finite();
                *value = encoded;
            }
            if lost {
                self.dtype.read_floats(input, floats);
                return floats.iter().position(|value| value.is_finite() && !way.encode(*value).is_finite());
            }
            return self.store(floats, integers, room);
        }
        self.dtype.read_integers(input, integers);
        match self.way {
            Way::Integers { offset, scale } => {
                if let Some(at) = self.encode_whole(offset, scale, integers) {
                    return Some(at);
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
            Way::Mixed { offset, scale } => {
                for (at, (float, &bits)) in floats.iter_mut().zip(&*integers).enumerate() {
                    let difference = self.dtype.value(bits) - i128::from(offset);
                    let Some(difference) = self.dtype.integer(difference) else { return Some(at) };
                    let difference = self.dtype.integer_as_float(difference, Number::DOUBLE);
                    *float = (difference * scale).round_ties_even();
                }
                self.store(floats, integers, room)
            }
            Way::Floats(way) => {
                for (float, &bits) in floats.iter_mut().zip(&*integers) {
                    *float = way.encode(self.dtype.integer_as_float(bits, way.number));
                }
                self.store(floats, integers, room)
            }
        }
    }

    /// The error for the number at place `at` of `piece`, which begins with number `start`.
    fn lost(&self, start: usize, at: usize, piece: &[u8]) -> CodecError {
        let bytes = &piece[at * self.dtype.size()..][..self.dtype.size()];
        let value = if self.dtype.is_float() {
            let mut value = [0.0];
            self.dtype.read_floats(bytes, &mut value);
            value[0].to_string()
        } else {
            let mut bits = [0];
            self.dtype.read_integers(bytes, &mut bits);
            self.dtype.value(bits[0]).to_string()
        };
        CodecError::unsupported(format!(
            "element {}, {value}, cannot be kept as {} with this offset and scale, and another number would be read",
            start + at,
            self.astype
        ))
    }

    /// The numbers that are read of what is stored, before they get the type of the data.
    fn read_back(&self, input: &[u8], values: &mut [f64], integers: &mut [i64]) {
        let Back(floats) = self.back;
        if self.astype.is_float() {
            self.astype.read_floats(input, values);
        } else {
            self.astype.read_integers(input, integers);
            for (value, &bits) in values.iter_mut().zip(&*integers) {
                *value = self.astype.integer_as_float(bits, floats.number);
            }
        }
        for value in &mut *values {
            *value = floats.decode(*value);
        }
    }

    /// The place of the first number of `piece` for which `stored` is read as none: out of range, or infinity.
    fn unreadable(&self, piece: &[u8], stored: &[u8]) -> Option<usize> {
        let (mut values, mut integers) = ([0.0; PIECE], [0; PIECE]);
        let values = &mut values[..piece.len() / self.dtype.size()];
        let integers = &mut integers[..values.len()];
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
            let text = format!("element {} is {}, which no {} is", start + at, values[at], self.dtype);
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
            // An offset that vanishes does no harm.
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
        self.number.rounded(difference * self.scale).round_ties_even()
    }

    fn decode(&self, value: f64) -> f64 {
        let quotient = self.number.rounded(value / self.scale);
        self.number.rounded(quotient + self.offset)
    }
}

impl Coder for FixedScaleOffsetCoder {
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
        let pieces = input.chunks(PIECE * from).zip(output.chunks_mut(PIECE * to));
        for (index, (piece, room)) in pieces.enumerate() {
            if let Some(at) = self.encode_piece(piece, room).or_else(|| self.unreadable(piece, room)) {
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
            let text = format!("{} bytes are no whole numbers of {size} bytes", input.len());
            return Err(CodecError::truncated(text));
        }
        Ok((input.len() / size).checked_mul(self.dtype.size()))
    }
}
