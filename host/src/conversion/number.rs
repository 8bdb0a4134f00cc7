//! Numbers of any type, and fractions whose denominator is a power of two.

use std::fmt;

use ncz_model::{NcType, Value};

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

impl Number {
    /// Whether the two are one number; NaN is the same as NaN.
    pub(crate) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one == other,
            (one, other) => {
                let (one, other) = (one.float(), other.float());
                one == other || one.is_nan() && other.is_nan()
            }
        }
    }

    /// As the nearest floating-point number.
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// The numbers of a value; none for text.
pub(crate) fn numbers(value: &Value) -> Vec<Number> {
    fn whole<T: Copy + Into<i128>>(values: &[T]) -> Vec<Number> {
        values.iter().map(|value| Number::Int((*value).into())).collect()
    }
    match value {
        Value::Byte(values) => whole(values),
        Value::UByte(values) => whole(values),
        Value::Short(values) => whole(values),
        Value::UShort(values) => whole(values),
        Value::Int(values) => whole(values),
        Value::UInt(values) => whole(values),
        Value::Int64(values) => whole(values),
        Value::UInt64(values) => whole(values),
        Value::Float(values) => values.iter().map(|value| Number::Float((*value).into())).collect(),
        Value::Double(values) => values.iter().map(|value| Number::Float(*value)).collect(),
        Value::Char(_) | Value::String(_) => Vec::new(),
    }
}

/// Appends a number as an element of a type in the byte order of the machine; `false` if the type does not have it.
pub(super) fn put(number: Number, nc_type: NcType, out: &mut Vec<u8>) -> bool {
    match nc_type {
        NcType::Float => {
            let value = number.float() as f32;
            out.extend_from_slice(&value.to_ne_bytes());
            return is_kept(number, f64::from(value));
        }
        NcType::Double => {
            out.extend_from_slice(&number.float().to_ne_bytes());
            return is_kept(number, number.float());
        }
        _ => {}
    }
    let whole = match number {
        Number::Int(value) => value,
        Number::Float(value) if value.fract() == 0.0 && value.abs() < 2f64.powi(64) => value as i128,
        Number::Float(_) => return false,
    };
    macro_rules! put {
        ($type:ty) => {
            <$type>::try_from(whole).map(|value| out.extend_from_slice(&value.to_ne_bytes())).is_ok()
        };
    }
    match nc_type {
        NcType::Byte => put!(i8),
        NcType::UByte => put!(u8),
        NcType::Short => put!(i16),
        NcType::UShort => put!(u16),
        NcType::Int => put!(i32),
        NcType::UInt => put!(u32),
        NcType::Int64 => put!(i64),
        NcType::UInt64 => put!(u64),
        NcType::Float | NcType::Double | NcType::Char | NcType::String => false,
    }
}

/// Whether a floating-point number is this number.
fn is_kept(number: Number, value: f64) -> bool {
    match number {
        Number::Int(whole) => value as i128 == whole,
        Number::Float(float) => value == float || value.is_nan() && float.is_nan(),
    }
}

/// A fraction: `numerator / 2^shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dyadic {
    pub(super) numerator: i128,
    pub(super) shift: u32,
}

impl Dyadic {
    /// The exact value; `None` if it is not finite, or has more digits than 127 bits.
    pub(super) fn of(number: Number) -> Option<Self> {
        let value = match number {
            Number::Int(numerator) => return Some(Self { numerator, shift: 0 }),
            Number::Float(value) if !value.is_finite() => return None,
            Number::Float(value) => value,
        };
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = match exponent {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, exponent as i32 - 1075),
        };
        let numerator = i128::from(mantissa) * if value < 0.0 { -1 } else { 1 };
        match u32::try_from(-exponent) {
            Ok(shift) => Some(Self { numerator, shift }.reduced()),
            Err(_) => {
                let factor = 1_i128.checked_shl(exponent.unsigned_abs()).filter(|factor| *factor > 0)?;
                Some(Self { numerator: numerator.checked_mul(factor)?, shift: 0 })
            }
        }
    }

    /// The same value with the smallest denominator.
    pub(super) fn reduced(self) -> Self {
        if self.numerator == 0 {
            return Self { numerator: 0, shift: 0 };
        }
        let by = self.numerator.trailing_zeros().min(self.shift);
        Self { numerator: self.numerator >> by, shift: self.shift - by }
    }

    /// The value as a number; `None` if a floating-point number has not enough digits.
    pub(super) fn number(self) -> Option<Number> {
        let Self { numerator, shift } = self.reduced();
        if shift == 0 {
            return Some(Number::Int(numerator));
        }
        let is_exact = numerator.unsigned_abs() < 1 << 53 && shift <= 1022;
        is_exact
            .then(|| Number::Float(numerator as f64 / 2f64.powi(i32::try_from(shift).unwrap_or(i32::MAX))))
    }
}
