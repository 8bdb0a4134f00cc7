use std::fmt;

use ncz_codec::Number;

/// How a number between two numbers of the target type is rounded. The numbers are those of the
/// parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// The nearer of the two; ties to even.
    #[default]
    NearestEven = 0,
    /// The one nearer to zero.
    TowardsZero = 1,
    /// The larger.
    TowardsPositive = 2,
    /// The smaller.
    TowardsNegative = 3,
    /// The nearer of the two; ties away from zero.
    NearestAway = 4,
}

/// How a rounded number outside the range of the target type is handled. The numbers are those of the parameter words,
/// where 0 is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// It becomes the largest or the smallest; an infinity if the type has them.
    Clamp = 1,
    /// It becomes the integer with the same lowest bits.
    Wrap = 2,
}

/// The conversion between two number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cast {
    pub(crate) from: Number,
    pub(crate) to: Number,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: Option<OutOfRange>,
}

/// Why a number has no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// NaN or an infinity, of which integers have none.
    NotFinite,
    OutOfRange,
}

/// A number: an integer by its bits, as [`Number`] has them, or a floating-point number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Held {
    Integer(i64),
    Float(f64),
}

impl Cast {
    pub(crate) fn one(&self, value: Held) -> Result<Held, Fault> {
        match (value, self.to.is_float()) {
            (Held::Integer(bits), false) => self.integer_to_integer(bits).map(Held::Integer),
            (Held::Integer(bits), true) => self.integer_to_float(bits).map(Held::Float),
            (Held::Float(value), false) => self.float_to_integer(value).map(Held::Integer),
            (Held::Float(value), true) => self.float_to_float(value).map(Held::Float),
        }
    }

    /// Converts each of `bits` in place; an error is the index of the first that has no counterpart.
    pub(crate) fn integers_to_integers(&self, bits: &mut [i64]) -> Option<(usize, Fault)> {
        // Most chunks have nothing to clamp or wrap.
        if self.from.size() < 8 || !self.from.is_unsigned() {
            let (least, most) = self.ends();
            if bits.iter().fold(true, |all, bits| all & (least <= *bits) & (*bits <= most)) {
                return None;
            }
        }
        first(bits.iter_mut().map(|bits| {
            *bits = self.integer_to_integer(*bits)?;
            Ok(())
        }))
    }

    pub(crate) fn integers_to_floats(&self, bits: &[i64], values: &mut [f64]) -> Option<(usize, Fault)> {
        if self.from.size() < self.to.size() {
            for (bits, value) in bits.iter().zip(values) {
                *value = *bits as f64;
            }
            return None;
        }
        first(bits.iter().zip(values).map(|(bits, value)| {
            *value = self.integer_to_float(*bits)?;
            Ok(())
        }))
    }

    pub(crate) fn floats_to_integers(&self, values: &mut [f64], bits: &mut [i64]) -> Option<(usize, Fault)> {
        for value in &mut *values {
            *value = self.whole(*value);
        }
        self.to.floats_as_integers(values, bits)?;
        first(values.iter().zip(bits).map(|(value, bits)| {
            *bits = self.whole_to_integer(*value)?;
            Ok(())
        }))
    }

    pub(crate) fn floats_to_floats(&self, values: &mut [f64]) -> Option<(usize, Fault)> {
        let held = |value: f64| (value.abs() < self.halfway()) | !value.is_finite();
        let nearest = self.rounding == Rounding::NearestEven
            && values.iter().fold(true, |all, &value| all & held(value));
        // Numbers are rounded so when they are written.
        if self.to.size() >= self.from.size() || nearest {
            return None;
        }
        first(values.iter_mut().map(|value| {
            *value = self.float_to_float(*value)?;
            Ok(())
        }))
    }

    fn integer_to_integer(&self, bits: i64) -> Result<i64, Fault> {
        let value = self.from.value(bits);
        match (self.to.integer(value), self.out_of_range) {
            (Some(bits), _) => Ok(bits),
            (None, None) => Err(Fault::OutOfRange),
            (None, Some(OutOfRange::Wrap)) => Ok(self.to.wrapped(bits)),
            (None, Some(OutOfRange::Clamp)) => Ok(self.end(value < 0)),
        }
    }

    fn integer_to_float(&self, bits: i64) -> Result<f64, Fault> {
        let value = self.from.value(bits);
        if value.unsigned_abs() as f64 >= self.limit() {
            return self.beyond(value < 0);
        }
        let near = self.from.integer_as_float(bits, self.to);
        let sides = || {
            // Not finite only next to the largest number of 2 bytes, which is nearer than the infinity.
            let below =
                if near as i128 > value || near == f64::INFINITY { self.to.next_down(near) } else { near };
            let above = if (below as i128) < value { self.to.next_up(below) } else { below };
            (below, above)
        };
        let rounded = match self.rounding {
            Rounding::NearestEven => near,
            _ if near.is_finite() && near as i128 == value => near,
            Rounding::NearestAway => {
                let (below, above) = sides();
                let distance = |side: f64| (side as i128 - value).unsigned_abs();
                let tie = below.is_finite() && above.is_finite() && distance(below) == distance(above);
                if tie { if value < 0 { below } else { above } } else { near }
            }
            Rounding::TowardsPositive => sides().1,
            Rounding::TowardsNegative => sides().0,
            Rounding::TowardsZero => {
                let (below, above) = sides();
                if value < 0 { above } else { below }
            }
        };
        if rounded.is_finite() { Ok(rounded) } else { self.beyond(value < 0) }
    }

    fn float_to_integer(&self, value: f64) -> Result<i64, Fault> {
        self.whole_to_integer(self.whole(value))
    }

    /// The integer that `value` is rounded to.
    fn whole(&self, value: f64) -> f64 {
        match self.rounding {
            Rounding::NearestEven => value.round_ties_even(),
            Rounding::TowardsZero => value.trunc(),
            Rounding::TowardsPositive => value.ceil(),
            Rounding::TowardsNegative => value.floor(),
            Rounding::NearestAway => value.round(),
        }
    }

    fn whole_to_integer(&self, value: f64) -> Result<i64, Fault> {
        if !value.is_finite() {
            return Err(Fault::NotFinite);
        }
        match (self.to.float_as_integer(value), self.out_of_range) {
            (Some(bits), _) => Ok(bits),
            (None, None) => Err(Fault::OutOfRange),
            (None, Some(OutOfRange::Wrap)) => Ok(self.to.wrapped(lowest_bits(value))),
            (None, Some(OutOfRange::Clamp)) => Ok(self.end(value < 0.0)),
        }
    }

    fn float_to_float(&self, value: f64) -> Result<f64, Fault> {
        if !value.is_finite() || self.to.size() >= self.from.size() {
            return Ok(value);
        }
        if value.abs() >= self.limit() {
            return self.beyond(value < 0.0);
        }
        let near = self.to.rounded(value);
        if near == value {
            return Ok(near);
        }
        let (below, above) =
            if near < value { (near, self.to.next_up(near)) } else { (self.to.next_down(near), near) };
        let rounded = match self.rounding {
            Rounding::NearestEven => near,
            // Both differences are exact.
            Rounding::NearestAway if value - below == above - value => {
                if value < 0.0 {
                    below
                } else {
                    above
                }
            }
            Rounding::NearestAway => near,
            Rounding::TowardsPositive => above,
            Rounding::TowardsNegative => below,
            Rounding::TowardsZero => {
                if value < 0.0 {
                    above
                } else {
                    below
                }
            }
        };
        // A number that is rounded to zero keeps its sign.
        if rounded.is_finite() { Ok(rounded.copysign(value)) } else { self.beyond(value < 0.0) }
    }

    /// The power of two after the largest number of a floating-point type: no rounding mode returns from there.
    fn limit(&self) -> f64 {
        match self.to.size() {
            2 => 65_536.0,
            4 => 2_f64.powi(128),
            _ => f64::INFINITY,
        }
    }

    /// The midpoint between that power of two and the largest number, which does not round to the number.
    fn halfway(&self) -> f64 {
        match self.to.size() {
            2 => 65_520.0,
            4 => 2_f64.powi(128) - 2_f64.powi(103),
            _ => f64::INFINITY,
        }
    }

    /// Returns the result for a number that is too large for a floating-point type.
    fn beyond(&self, negative: bool) -> Result<f64, Fault> {
        match self.out_of_range {
            Some(OutOfRange::Clamp) => Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            // Only integers wrap around.
            Some(OutOfRange::Wrap) | None => Err(Fault::OutOfRange),
        }
    }

    /// The smallest or the largest integer of the type that is cast to.
    fn end(&self, smallest: bool) -> i64 {
        let (least, most) = self.ends();
        match (self.to.is_unsigned() && self.to.size() == 8, smallest) {
            (true, false) => -1,
            (_, true) => least,
            (_, false) => most,
        }
    }

    /// The smallest and the largest integer of the type that is cast to, or the largest that `i64` has.
    fn ends(&self) -> (i64, i64) {
        let unused = 64 - 8 * self.to.size() as u32;
        match (self.to.is_unsigned(), unused) {
            (true, 0) => (0, i64::MAX),
            (true, unused) => (0, i64::MAX >> (unused - 1)),
            (false, unused) => (i64::MIN >> unused, i64::MAX >> unused),
        }
    }
}

fn first(results: impl Iterator<Item = Result<(), Fault>>) -> Option<(usize, Fault)> {
    results.enumerate().find_map(|(at, result)| result.err().map(|fault| (at, fault)))
}

/// The lowest 64 bits of an integer in two's complement.
fn lowest_bits(value: f64) -> i64 {
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1075;
    if exponent <= 0 {
        return value as i64;
    }
    let mantissa = value.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let magnitude = mantissa.checked_shl(exponent as u32).unwrap_or(0) as i64;
    if value < 0.0 { magnitude.wrapping_neg() } else { magnitude }
}

impl Held {
    /// A key that is the same for equal numbers of a type: also for the two zeros, and for every NaN.
    #[inline]
    pub(crate) fn key(self) -> i64 {
        match self {
            Self::Integer(bits) => bits,
            Self::Float(value) if value.is_nan() => f64::NAN.to_bits().cast_signed(),
            // -0.0 + 0.0 is 0.0.
            Self::Float(value) => (value + 0.0).to_bits().cast_signed(),
        }
    }

    /// Reads one number of this type.
    pub(crate) fn read(number: Number, bytes: &[u8]) -> Self {
        if number.is_float() {
            let mut value = [0.0];
            number.read_floats(bytes, &mut value);
            Self::Float(value[0])
        } else {
            let mut bits = [0];
            number.read_integers(bytes, &mut bits);
            Self::Integer(bits[0])
        }
    }

    /// The bytes of the number, which is of this type.
    pub(crate) fn bytes(self, number: Number) -> Vec<u8> {
        let mut bytes = vec![0; number.size()];
        match self {
            Self::Integer(integer) => number.write_integers(&[integer], &mut bytes),
            Self::Float(float) => number.write_floats(&[float], &mut bytes),
        }
        bytes
    }

    /// For messages: the number is of this type.
    pub(crate) fn shown(self, number: Number) -> String {
        match self {
            Self::Integer(bits) => number.value(bits).to_string(),
            // The shortest text of a narrow number is that in its own type.
            Self::Float(value) if number.size() <= 4 => (value as f32).to_string(),
            Self::Float(value) => value.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFinite => "is not finite",
            Self::OutOfRange => "is out of the range",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(from: &str, to: &str, rounding: Rounding, out_of_range: Option<OutOfRange>) -> Cast {
        let number = |name| Number::from_v3(name).unwrap();
        Cast { from: number(from), to: number(to), rounding, out_of_range }
    }

    #[test]
    fn large_numbers_wrap_by_their_lowest_bits() {
        for (value, bits) in [
            (2_f64.powi(63), i64::MIN),
            (2_f64.powi(64), 0),
            (2_f64.powi(64) + 4096.0, 4096),
            (-(2_f64.powi(63) + 2048.0), i64::MAX - 2047),
            (1e300, 0),
            (300.0, 300),
            (-1.0, -1),
        ] {
            assert_eq!(lowest_bits(value), bits, "{value}");
        }
    }

    #[test]
    fn doubles_become_halves_without_a_step_between() {
        // numpy agrees; cast-value-rs 0.5.1 rounds to 4 bytes first, where this is half of the least, and gets 0.
        let cast = cast("float64", "float16", Rounding::NearestEven, None);
        assert_eq!(cast.float_to_float(2.98023223877e-8), Ok(2_f64.powi(-24)));
        assert_eq!(cast.float_to_float(2_f64.powi(-25)), Ok(0.0));
    }

    #[test]
    fn integers_next_to_the_largest_half_are_rounded_in_each_way() {
        use Rounding::*;
        for (rounding, value, want) in [
            (NearestEven, 65519, Some(65504.0)),
            (NearestEven, 65520, None),
            (TowardsZero, 65535, Some(65504.0)),
            (TowardsPositive, 65505, None),
            (TowardsPositive, -65535, Some(-65504.0)),
            (TowardsNegative, 65535, Some(65504.0)),
            (TowardsNegative, -65505, None),
            (NearestAway, 65519, Some(65504.0)),
            (NearestAway, 65520, None),
            (NearestAway, 2049, Some(2050.0)),
            (NearestAway, -2049, Some(-2050.0)),
            (NearestEven, 2049, Some(2048.0)),
            (TowardsZero, 65536, None),
        ] {
            let cast = cast("int32", "float16", rounding, None);
            assert_eq!(cast.integer_to_float(value).ok(), want, "{rounding:?} {value}");
            let cast = super::Cast { from: Number::DOUBLE, ..cast };
            assert_eq!(cast.float_to_float(value as f64).ok(), want, "{rounding:?} {value}.0");
        }
    }
}
