//! Numbers in CDL: C's `%g`, with given or with sufficient digits.

use crate::value::Value;

/// How many digits floating-point numbers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Digits {
    /// As many as it takes to read the same number back. Most numbers look as in [`Digits::NCDUMP`].
    #[default]
    Exact,
    /// So many, which may round (`ncdump -p`).
    Fixed {
        /// Of a float.
        float: usize,
        /// Of a double.
        double: usize,
    },
}

impl Digits {
    /// What ncdump prints without `-p`: 7 and 15.
    pub const NCDUMP: Self = Self::Fixed { float: 7, double: 15 };
}

/// A float as a value of a variable.
pub(super) fn float_value(value: f32, digits: Digits) -> String {
    match special(f64::from(value)) {
        Some(word) => format!("{word}f"),
        None => Parts::of_float(value, digits).general(false),
    }
}

/// A double as a value of a variable.
pub(super) fn double_value(value: f64, digits: Digits) -> String {
    match special(value) {
        Some(word) => word.to_owned(),
        None => Parts::of_double(value, digits).general(false),
    }
}

/// Number `at` of an attribute, with the suffix of its type.
pub(super) fn attribute_value(value: &Value, at: usize, digits: Digits) -> Option<String> {
    Some(match value {
        Value::Byte(values) => format!("{}b", values.get(at)?),
        Value::UByte(values) => format!("{}UB", values.get(at)?),
        Value::Short(values) => format!("{}s", values.get(at)?),
        Value::UShort(values) => format!("{}US", values.get(at)?),
        Value::Int(values) => values.get(at)?.to_string(),
        Value::UInt(values) => format!("{}U", values.get(at)?),
        Value::Int64(values) => format!("{}LL", values.get(at)?),
        Value::UInt64(values) => format!("{}ULL", values.get(at)?),
        Value::Float(values) => {
            let value = *values.get(at)?;
            match special(f64::from(value)) {
                Some(word) => format!("{word}f"),
                None => format!("{}f", Parts::of_float(value, digits).general(true)),
            }
        }
        Value::Double(values) => {
            let value = *values.get(at)?;
            match special(value) {
                Some(word) => word.to_owned(),
                None => Parts::of_double(value, digits).general(true),
            }
        }
        Value::Char(_) | Value::String(_) => return None,
    })
}

fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

/// A finite number in decimal.
struct Parts {
    negative: bool,
    /// Significant digits without trailing zeros, at least one.
    digits: String,
    exponent: i32,
    /// From this exponent on, `%g` takes the exponential form.
    precision: i32,
}

impl Parts {
    fn of_float(value: f32, digits: Digits) -> Self {
        match digits {
            Digits::Exact => Self::new(&format!("{value:e}"), 7),
            Digits::Fixed { float, .. } => Self::new(&format!("{value:.*e}", float.max(1) - 1), float),
        }
    }

    fn of_double(value: f64, digits: Digits) -> Self {
        match digits {
            Digits::Exact => Self::new(&format!("{value:e}"), 15),
            Digits::Fixed { double, .. } => Self::new(&format!("{value:.*e}", double.max(1) - 1), double),
        }
    }

    fn new(scientific: &str, precision: usize) -> Self {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let trimmed = digits.trim_end_matches('0');
        let digits = if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() };
        let precision = precision.max(digits.len()).max(1);
        Self {
            negative: mantissa.starts_with('-'),
            exponent: exponent.parse().unwrap_or(0),
            precision: i32::try_from(precision).unwrap_or(i32::MAX),
            digits,
        }
    }

    /// The form of `%g`; with `point`, that of `%#g` without the zeros at its end.
    fn general(&self, point: bool) -> String {
        let sign = if self.negative { "-" } else { "" };
        let dot = if point { "." } else { "" };
        let digits = &self.digits;
        if self.exponent < -4 || self.exponent >= self.precision {
            let (first, rest) = digits.split_at(1);
            let mark = if rest.is_empty() { dot } else { "." };
            let direction = if self.exponent < 0 { '-' } else { '+' };
            return format!("{sign}{first}{mark}{rest}e{direction}{:02}", self.exponent.unsigned_abs());
        }
        if self.exponent < 0 {
            let zeros = "0".repeat(self.exponent.unsigned_abs() as usize - 1);
            return format!("{sign}0.{zeros}{digits}");
        }
        let whole = self.exponent as usize + 1;
        if digits.len() <= whole {
            let zeros = "0".repeat(whole - digits.len());
            return format!("{sign}{digits}{zeros}{dot}");
        }
        let (before, after) = digits.split_at(whole);
        format!("{sign}{before}.{after}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_look_as_printf_has_them() {
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
            (1e15, "1e+15"),
            (std::f64::consts::PI, "3.14159265358979"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double_value(value, Digits::NCDUMP), text);
        }
        assert_eq!(float_value(3.4e38, Digits::NCDUMP), "3.4e+38");
        assert_eq!(float_value(0.1, Digits::NCDUMP), "0.1");
        assert_eq!(float_value(f32::NAN, Digits::Exact), "NaNf");
        assert_eq!(double_value(std::f64::consts::PI, Digits::Exact), "3.141592653589793");
    }

    #[test]
    fn attributes_have_a_point_and_a_suffix() {
        for (value, text) in [
            (Value::from(-999f32), "-999.f"),
            (Value::from(1.5f32), "1.5f"),
            (Value::from(3.0), "3."),
            (Value::from(1e20), "1.e+20"),
            (Value::from(f32::NEG_INFINITY), "-Infinityf"),
            (Value::from(1i8), "1b"),
            (Value::from(7u16), "7US"),
            (Value::from(u64::MAX), "18446744073709551615ULL"),
        ] {
            assert_eq!(attribute_value(&value, 0, Digits::NCDUMP).as_deref(), Some(text));
        }
    }

    proptest! {
        #[test]
        fn exact_digits_read_back_to_the_bit(bits in any::<u64>(), float_bits in any::<u32>()) {
            let (double, float) = (f64::from_bits(bits), f32::from_bits(float_bits));
            if double.is_finite() {
                prop_assert_eq!(double_value(double, Digits::Exact).parse::<f64>().unwrap().to_bits(), bits);
            }
            if float.is_finite() {
                prop_assert_eq!(float_value(float, Digits::Exact).parse::<f32>().unwrap().to_bits(), float_bits);
            }
        }
    }
}
