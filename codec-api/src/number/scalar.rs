//! Single numbers in a configuration, written like fill values in Zarr v3 (core specification, "Fill value").

use std::fmt;

use serde_json::{Number as JsonNumber, Value, json};

use super::Number;
use crate::error::{CodecError, Result};
use crate::params;

/// A number in a configuration, before its type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Written without a fraction; within `i64` and `u64`.
    Integer(i128),
    /// Written with a fraction, an exponent, or as `"NaN"`, `"Infinity"`, `"-Infinity"`.
    Float(f64),
    /// The bits of a floating-point number of `size` bytes, written as `"0x7fc00001"`.
    Bits {
        /// The bits; the highest are 0.
        bits: u64,
        /// 2, 4 or 8.
        size: usize,
    },
}

/// The discriminant in the first of three words; the value is in the other two.
const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;
/// The size of the number in bytes.
const BITS: u32 = 16;

impl Scalar {
    /// Reads a number; `key` names it in messages.
    ///
    /// # Errors
    /// Neither a number nor one of the words for numbers.
    pub fn from_json(key: &str, value: &Value) -> Result<Self> {
        let wrong = |detail: String| CodecError::config(key, detail);
        match value {
            Value::Number(number) => Self::of(number).ok_or_else(|| wrong(format!("{number} is too large"))),
            Value::String(text) => Self::of_word(text).ok_or_else(|| {
                wrong(format!(
                    "{text:?} is not a number; words for numbers are NaN, Infinity, -Infinity, and 0x with all the digits of the bits"
                ))
            }),
            other => Err(wrong(format!("expected a number, got {other}"))),
        }
    }

    fn of(number: &JsonNumber) -> Option<Self> {
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        let float = || number.as_f64().filter(|float| float.is_finite()).map(Self::Float);
        integer.map(Self::Integer).or_else(float)
    }

    fn of_word(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix("0x") {
            let whole = matches!(digits.len(), 4 | 8 | 16) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let bits = u64::from_str_radix(digits, 16).ok().filter(|_| whole)?;
            return Some(Self::Bits { bits, size: digits.len() / 2 });
        }
        Some(Self::Float(match text {
            "NaN" => f64::NAN,
            // "+Infinity" is in an example of the cast_value specification.
            "Infinity" | "+Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => return None,
        }))
    }

    /// The number as it was written.
    pub fn json(self) -> Value {
        match self {
            Self::Integer(integer) => match (i64::try_from(integer), u64::try_from(integer)) {
                (Ok(integer), _) => json!(integer),
                (_, Ok(integer)) => json!(integer),
                // There are no other sizes.
                _ => Value::Null,
            },
            Self::Float(float) if float.is_nan() => json!("NaN"),
            Self::Float(f64::INFINITY) => json!("Infinity"),
            Self::Float(f64::NEG_INFINITY) => json!("-Infinity"),
            Self::Float(float) => json!(float),
            Self::Bits { bits, size } => json!(format!("0x{bits:0width$x}", width = 2 * size)),
        }
    }

    /// Returns the number as three parameter words.
    pub fn words(self) -> [u32; 3] {
        let with = |kind, [low, high]: [u32; 2]| [kind, low, high];
        match self {
            Self::Integer(integer) => match i64::try_from(integer) {
                Ok(integer) => with(SIGNED, params::i64_words(integer)),
                Err(_) => with(UNSIGNED, params::u64_words(integer as u64)),
            },
            Self::Float(float) => with(FLOAT, params::f64_words(float)),
            Self::Bits { bits, size } => with(BITS + size as u32, params::u64_words(bits)),
        }
    }

    /// Reads the result of [`words`](Self::words); `None` if the words are not valid.
    pub fn from_words([kind, low, high]: [u32; 3]) -> Option<Self> {
        let words = [low, high];
        let bits = params::words_u64(words);
        let held = |size: usize| size == 8 || bits >> (8 * size) == 0;
        Some(match kind {
            SIGNED => Self::Integer(params::words_i64(words).into()),
            UNSIGNED => Self::Integer(bits.into()),
            FLOAT => Self::Float(params::words_f64(words)),
            _ => match kind.checked_sub(BITS).map(|size| size as usize) {
                Some(size @ (2 | 4 | 8)) if held(size) => Self::Bits { bits, size },
                _ => return None,
            },
        })
    }

    /// Returns the bits of the number as an integer of this type, if the type has that value.
    pub fn as_integer(self, number: Number) -> Option<i64> {
        match self {
            Self::Integer(integer) => number.integer(integer),
            Self::Float(float) if float.fract() == 0.0 => number.float_as_integer(float),
            _ => None,
        }
    }

    /// Returns the nearest number of this floating-point type; `None` if a finite number is too large for it, and for
    /// the bits of another type.
    pub fn as_float(self, number: Number) -> Option<f64> {
        let float = match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
            Self::Bits { bits, size } => {
                let mut value = [0.0];
                let little = Number::little_float(size)?;
                little.read_floats(&bits.to_le_bytes()[..size], &mut value);
                return (size == number.size()).then_some(value[0]);
            }
        };
        let rounded = number.rounded(float);
        (rounded.is_finite() || !float.is_finite()).then_some(rounded)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_printed_as_they_were_read_and_come_back_from_words() {
        for json in [
            json!(0),
            json!(-5),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(5.0),
            json!(-0.0),
            json!(1e300),
            json!("NaN"),
            json!("Infinity"),
            json!("-Infinity"),
            json!("0x7e01"),
            json!("0x00000000"),
            json!("0xfff8000000000001"),
        ] {
            let scalar = Scalar::from_json("offset", &json).unwrap();
            assert_eq!(scalar.json(), json);
            assert_eq!(Scalar::from_words(scalar.words()).unwrap().json(), json);
        }
        assert_eq!(Scalar::from_json("k", &json!("+Infinity")).unwrap().json(), json!("Infinity"));
        for words in [[3, 0, 0], [19, 0, 0], [18, 1 << 16, 0], [20, 0, 1], [u32::MAX, 0, 0]] {
            assert_eq!(Scalar::from_words(words), None, "{words:?}");
        }
    }

    #[test]
    fn other_json_is_refused_by_its_key() {
        for json in
            [json!(null), json!(true), json!("1"), json!("nan"), json!("0x7e0"), json!("0x+e00"), json!([1])]
        {
            let error = Scalar::from_json("offset", &json).unwrap_err();
            assert!(error.to_string().contains(r#"key "offset""#), "{json}: {error}");
        }
    }

    #[test]
    fn a_number_is_held_by_the_types_that_have_it() {
        for (json, text, integer) in [
            (json!(255), "|u1", Some(255)),
            (json!(256), "|u1", None),
            (json!(-1), "|u1", None),
            (json!(u64::MAX), "<u8", Some(-1)),
            (json!(u64::MAX), "<i8", None),
            (json!(5.0), "<i2", Some(5)),
            (json!(5.5), "<i2", None),
            (json!("NaN"), "<i2", None),
            (json!("0x0005"), "<i2", None),
        ] {
            let scalar = Scalar::from_json("k", &json).unwrap();
            assert_eq!(scalar.as_integer(number(text)), integer, "{json} {text}");
        }
        for (json, text, bits) in [
            (json!(1), "<f4", Some(1.0_f64.to_bits())),
            (json!(0.1), "<f4", Some(f64::from(0.1_f32).to_bits())),
            (json!(1e39), "<f4", None),
            (json!(65520), "<f2", None),
            (json!("Infinity"), "<f2", Some(f64::INFINITY.to_bits())),
            (json!("0x3c00"), ">f2", Some(1.0_f64.to_bits())),
            (json!("0x3c00"), "<f4", None),
            (json!("0x7fc00001"), "<f4", Some(0x7ff8_0000_2000_0000)),
        ] {
            let scalar = Scalar::from_json("k", &json).unwrap();
            assert_eq!(scalar.as_float(number(text)).map(f64::to_bits), bits, "{json} {text}");
        }
    }
}
