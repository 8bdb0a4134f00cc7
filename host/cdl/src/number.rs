//! Numbers in CDL: C's `%g`, with a given or a sufficient number of digits.

use ncz_model::Value;
use std::cmp::Ordering;
use std::io::Write;

/// The number of digits of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Digits {
    /// As many as are needed to read the same number back. Most numbers look as in [`Digits::NCDUMP`].
    #[default]
    Exact,
    /// A fixed number, which may round (`ncdump -p`).
    Fixed {
        /// The digits of a float.
        float: usize,
        /// The digits of a double.
        double: usize,
    },
}

impl Digits {
    /// The digits of ncdump without `-p`: 7 and 15.
    pub const NCDUMP: Self = Self::Fixed { float: 7, double: 15 };
}

/// The number of digits up to which rounding the shortest text of a float equals rounding the number itself.
const FLOAT_DIGITS: usize = 7;

/// The same for a double.
const DOUBLE_DIGITS: usize = 15;

/// Appends a float as a value of a variable.
pub(super) fn float_value(value: f32, digits: Digits, out: &mut Vec<u8>) {
    match special(f64::from(value)) {
        Some(word) => out.extend_from_slice(&[word.as_bytes(), b"f"].concat()),
        None => Decimal::of_float(value, digits).general(false, out),
    }
}

/// Appends a double as a value of a variable.
pub(super) fn double_value(value: f64, digits: Digits, out: &mut Vec<u8>) {
    match special(value) {
        Some(word) => out.extend_from_slice(word.as_bytes()),
        None => Decimal::of_double(value, digits).general(false, out),
    }
}

/// Appends an integer.
pub(super) fn integer_value(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends number `at` of an attribute, with the suffix of its type; nothing for text.
pub(super) fn attribute_value(value: &Value, at: usize, digits: Digits, out: &mut Vec<u8>) {
    macro_rules! integer {
        ($values:expr, $suffix:expr) => {{
            let Some(value) = $values.get(at) else { return };
            integer_value(*value, out);
            out.extend_from_slice($suffix);
        }};
    }
    match value {
        Value::Byte(values) => integer!(values, b"b"),
        Value::UByte(values) => integer!(values, b"UB"),
        Value::Short(values) => integer!(values, b"s"),
        Value::UShort(values) => integer!(values, b"US"),
        Value::Int(values) => integer!(values, b""),
        Value::UInt(values) => integer!(values, b"U"),
        Value::Int64(values) => integer!(values, b"LL"),
        Value::UInt64(values) => integer!(values, b"ULL"),
        Value::Float(values) => {
            let Some(&value) = values.get(at) else { return };
            match special(f64::from(value)) {
                Some(word) => out.extend_from_slice(word.as_bytes()),
                None => Decimal::of_float(value, digits).general(true, out),
            }
            out.push(b'f');
        }
        Value::Double(values) => {
            let Some(&value) = values.get(at) else { return };
            match special(value) {
                Some(word) => out.extend_from_slice(word.as_bytes()),
                None => Decimal::of_double(value, digits).general(true, out),
            }
        }
        Value::Char(_) | Value::String(_) => {}
    }
}

/// Appends number `at` of some values without a type suffix; nothing for text.
///
/// ```
/// use ncz_model::Value;
/// use ncz_cdl::{Digits, number_text};
///
/// let mut text = Vec::new();
/// number_text(&Value::from(vec![1.5f32, f32::NAN]), 1, Digits::Exact, &mut text);
/// assert_eq!(text, b"NaN");
/// ```
pub fn number_text(values: &Value, at: usize, digits: Digits, out: &mut Vec<u8>) {
    macro_rules! integer {
        ($values:expr) => {
            $values.get(at).into_iter().for_each(|value| integer_value(*value, out))
        };
    }
    match values {
        Value::Byte(values) => integer!(values),
        Value::UByte(values) => integer!(values),
        Value::Short(values) => integer!(values),
        Value::UShort(values) => integer!(values),
        Value::Int(values) => integer!(values),
        Value::UInt(values) => integer!(values),
        Value::Int64(values) => integer!(values),
        Value::UInt64(values) => integer!(values),
        Value::Float(values) => match values.get(at) {
            Some(value) if !value.is_finite() => {
                out.extend_from_slice(special(f64::from(*value)).unwrap_or_default().as_bytes());
            }
            Some(value) => float_value(*value, digits, out),
            None => {}
        },
        Value::Double(values) => {
            values.get(at).into_iter().for_each(|value| double_value(*value, digits, out))
        }
        Value::Char(_) | Value::String(_) => {}
    }
}

/// The name of a number that is not finite; `None` for finite numbers.
pub(super) fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_finite() => None,
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        _ => Some("-Infinity"),
    }
}

/// The most digits of a [`Decimal`]: `-p` accepts up to 20.
const ROOM: usize = 24;

/// A finite number in decimal.
struct Decimal {
    negative: bool,
    /// Significant digits as characters, without trailing zeros, at least one.
    digits: [u8; ROOM],
    len: usize,
    /// The exponent of the first digit.
    exponent: i32,
    /// From this exponent on, `%g` uses the exponential form.
    precision: i32,
}

impl Decimal {
    fn of_float(value: f32, digits: Digits) -> Self {
        let shortest = Self::parse(zmij::Buffer::new().format_finite(value).as_bytes());
        let Digits::Fixed { float: precision, .. } = digits else {
            return shortest.with_precision(FLOAT_DIGITS);
        };
        // The shortest text may differ from the number by half the distance to the next float, which in some decades is
        // more than half a unit of the seventh digit.
        let is_near = || {
            let ulp = f64::from(f32::from_bits(value.to_bits() & 0x7f80_0000)) / f64::from(1 << 23);
            let unit = 10f64.powi(shortest.exponent - 6);
            value.is_normal() && ulp <= unit
        };
        let exact = || Self::parse(format!("{value:.*e}", precision.max(1) - 1).as_bytes());
        if precision > FLOAT_DIGITS || (shortest.len <= precision && value != 0.0 && !is_near()) {
            return exact().with_precision(precision);
        }
        shortest.rounded(precision, Some(value)).unwrap_or_else(exact).with_precision(precision)
    }

    fn of_double(value: f64, digits: Digits) -> Self {
        let shortest = Self::parse(zmij::Buffer::new().format_finite(value).as_bytes());
        let Digits::Fixed { double: precision, .. } = digits else {
            return shortest.with_precision(DOUBLE_DIGITS);
        };
        let exact = || Self::parse(format!("{value:.*e}", precision.max(1) - 1).as_bytes());
        let is_subnormal = value != 0.0 && !value.is_normal();
        if precision > DOUBLE_DIGITS || is_subnormal {
            return exact().with_precision(precision);
        }
        shortest.rounded(precision, None).unwrap_or_else(exact).with_precision(precision)
    }

    /// Parses a text such as `-12.5`, `1e-7`, `0.00125`.
    fn parse(text: &[u8]) -> Self {
        let mut found = Self { negative: false, digits: [b'0'; ROOM], len: 0, exponent: 0, precision: 0 };
        let mut rest = text;
        if let Some(unsigned) = text.strip_prefix(b"-") {
            found.negative = true;
            rest = unsigned;
        }
        // The digits before the point, minus the zeros before the first significant digit.
        let mut exponent = -1;
        let mut is_behind_point = false;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'0'..=b'9' => {
                    exponent += i32::from(!is_behind_point);
                    if found.len == 0 && byte == b'0' {
                        exponent -= 1;
                    } else if let Some(digit) = found.digits.get_mut(found.len) {
                        *digit = byte;
                        found.len += 1;
                    }
                }
                b'.' => is_behind_point = true,
                _ => {
                    exponent += parse_exponent(rest);
                    break;
                }
            }
        }
        while found.len > 0 && found.digits.get(found.len - 1) == Some(&b'0') {
            found.len -= 1;
        }
        if found.len == 0 {
            (found.len, exponent) = (1, 0);
        }
        found.exponent = exponent;
        found
    }

    /// Sets the number of digits below which `%g` uses the fixed form: `precision`, or as many as there are.
    fn with_precision(mut self, precision: usize) -> Self {
        self.precision = i32::try_from(precision.max(self.len).max(1)).unwrap_or(i32::MAX);
        self
    }

    /// Whether the magnitude of a float is above these digits; `None` if a double cannot decide it.
    fn is_below(&self, float: f32) -> Option<bool> {
        // A whole number below 2^53, multiplied or divided by a power of ten that a double holds exactly, is rounded
        // once. A number above or below that double is above or below the digits; an equal number may be either.
        const EXACT: i32 = 22;
        let whole = self.digits.get(..self.len.min(16))?;
        let whole = whole.iter().fold(0u64, |whole, digit| whole * 10 + u64::from(digit - b'0'));
        let scale = self.exponent - i32::try_from(self.len).ok()? + 1;
        if self.len > 15 || scale.abs() > EXACT {
            return None;
        }
        let power = 10f64.powi(scale.abs());
        let digits = if scale < 0 { whole as f64 / power } else { whole as f64 * power };
        match f64::from(float.abs()).partial_cmp(&digits)? {
            Ordering::Less => Some(false),
            Ordering::Equal => None,
            Ordering::Greater => Some(true),
        }
    }

    /// Rounds to at most `precision` digits. `None` if neither these digits nor their float decide the rounding: the
    /// number may be on either side of the middle between two texts.
    fn rounded(&self, precision: usize, float: Option<f32>) -> Option<Self> {
        let mut rounded = Self { ..*self };
        if self.len <= precision {
            return Some(rounded);
        }
        let tail = self.digits.get(precision..self.len)?;
        let mut carry = match tail {
            b"5" => self.is_below(float?)?,
            _ => tail.first().is_some_and(|digit| *digit >= b'5'),
        };
        rounded.len = precision;
        while carry && rounded.len > 0 {
            let digit = rounded.digits.get_mut(rounded.len - 1)?;
            if *digit == b'9' {
                rounded.len -= 1;
            } else {
                *digit += 1;
                carry = false;
            }
        }
        if carry {
            *rounded.digits.first_mut()? = b'1';
            rounded.len = 1;
            rounded.exponent += 1;
        }
        while rounded.len > 1 && rounded.digits.get(rounded.len - 1) == Some(&b'0') {
            rounded.len -= 1;
        }
        Some(rounded)
    }

    /// Appends the form of `%g`; with `point`, the form of `%#g` without trailing zeros.
    fn general(&self, point: bool, out: &mut Vec<u8>) {
        const ZEROS: [u8; 32] = [b'0'; 32];
        let zeros = |count: usize| ZEROS.get(..count).unwrap_or(&ZEROS);
        let digits = self.digits.get(..self.len).unwrap_or_default();
        if self.negative {
            out.push(b'-');
        }
        if self.exponent < -4 || self.exponent >= self.precision {
            let (first, rest) = digits.split_at(1);
            out.extend_from_slice(first);
            if point || !rest.is_empty() {
                out.push(b'.');
            }
            out.extend_from_slice(rest);
            // Writing to memory does not fail.
            let direction = if self.exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "e{direction}{:02}", self.exponent.unsigned_abs());
        } else if self.exponent < 0 {
            out.extend_from_slice(b"0.");
            out.extend_from_slice(zeros(self.exponent.unsigned_abs() as usize - 1));
            out.extend_from_slice(digits);
        } else {
            let whole = self.exponent.unsigned_abs() as usize + 1;
            if let Some((before, after)) =
                digits.split_at_checked(whole).filter(|(_, after)| !after.is_empty())
            {
                out.extend_from_slice(before);
                out.push(b'.');
                out.extend_from_slice(after);
            } else {
                out.extend_from_slice(digits);
                out.extend_from_slice(zeros(whole - digits.len()));
                if point {
                    out.push(b'.');
                }
            }
        }
    }
}

/// Parses a whole number with or without a sign.
fn parse_exponent(text: &[u8]) -> i32 {
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    sign * digits.iter().fold(0, |number, digit| number * 10 + i32::from(digit.wrapping_sub(b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn float(value: f32, digits: Digits) -> String {
        let mut text = Vec::new();
        float_value(value, digits, &mut text);
        String::from_utf8(text).unwrap()
    }

    fn double(value: f64, digits: Digits) -> String {
        let mut text = Vec::new();
        double_value(value, digits, &mut text);
        String::from_utf8(text).unwrap()
    }

    fn attribute(value: &Value) -> String {
        let mut text = Vec::new();
        attribute_value(value, 0, Digits::NCDUMP, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn values_are_formatted_as_by_printf() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (281.5, "281.5"),
            (1e300, "1e+300"),
            (-1e-300, "-1e-300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456789012345.0, "123456789012345"),
            (999999999999999.9, "1e+15"),
            (1e15, "1e+15"),
            (1e14, "100000000000000"),
            (std::f64::consts::PI, "3.14159265358979"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value, Digits::NCDUMP), text);
        }
        assert_eq!(float(3.4e38, Digits::NCDUMP), "3.4e+38");
        assert_eq!(float(0.1, Digits::NCDUMP), "0.1");
        assert_eq!(float(0.1, Digits::Fixed { float: 9, double: 17 }), "0.100000001");
        assert_eq!(float(f32::NAN, Digits::Exact), "NaNf");
        assert_eq!(double(std::f64::consts::PI, Digits::Exact), "3.141592653589793");
        assert_eq!(double(0.5, Digits::Fixed { float: 1, double: 20 }), "0.5");
        assert_eq!(double(0.1, Digits::Fixed { float: 1, double: 20 }), "0.10000000000000000555");
    }

    #[test]
    fn attributes_have_a_point_and_a_suffix() {
        for (value, text) in [
            (Value::from(0f32), "0.f"),
            (Value::from(-999f32), "-999.f"),
            (Value::from(1.5f32), "1.5f"),
            (Value::from(3.0), "3."),
            (Value::from(1e20), "1.e+20"),
            (Value::from(f32::NEG_INFINITY), "-Infinityf"),
            (Value::from(1i8), "1b"),
            (Value::from(7u16), "7US"),
            (Value::from(u64::MAX), "18446744073709551615ULL"),
        ] {
            assert_eq!(attribute(&value), text);
        }
    }

    /// The text of `%.{digits}g` made from Rust's own exact conversion.
    fn by_rust(scientific: &str, digits: usize) -> String {
        let mut text = Vec::new();
        Decimal::parse(scientific.as_bytes()).with_precision(digits).general(false, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn floats_in_every_decade_round_as_the_number_itself() {
        let mut state = 1u64;
        for _ in 0..400_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bits = (state >> 32) as u32;
            for value in [f32::from_bits(bits), (bits >> 6) as f32, (bits % 100_000_000) as f32 / 1000.0] {
                if !value.is_finite() {
                    continue;
                }
                let digits = (state >> 8) as usize % 9 + 1;
                for digits in [digits, 7] {
                    let ours = float(value, Digits::Fixed { float: digits, double: 15 });
                    assert_eq!(ours, by_rust(&format!("{value:.*e}", digits - 1), digits), "{value:e}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn exact_digits_read_back_to_the_bit(bits in any::<u64>(), float_bits in any::<u32>()) {
            let (double_, float_) = (f64::from_bits(bits), f32::from_bits(float_bits));
            if double_.is_finite() {
                prop_assert_eq!(double(double_, Digits::Exact).parse::<f64>().unwrap().to_bits(), bits);
            }
            if float_.is_finite() {
                prop_assert_eq!(float(float_, Digits::Exact).parse::<f32>().unwrap().to_bits(), float_bits);
            }
        }

        #[test]
        fn doubles_round_as_the_number_itself(
            bits in any::<u64>(), decimal in -10_000_000i64..10_000_000, places in 0i32..9, digits in 1usize..21,
        ) {
            for value in [f64::from_bits(bits), decimal as f64 / 10f64.powi(places), decimal as f64 + 0.5] {
                if value.is_finite() {
                    let ours = double(value, Digits::Fixed { float: 7, double: digits });
                    prop_assert_eq!(ours, by_rust(&format!("{value:.*e}", digits - 1), digits), "{:e}", value);
                }
            }
        }
    }
}
