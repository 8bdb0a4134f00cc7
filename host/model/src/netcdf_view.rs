//! The netCDF view of elements, including elements of types that netCDF lacks.

use crate::dtype::{Dtype, Kind, NcType};
use crate::hierarchy::Variable;
use crate::value::Value;

/// The netCDF representation of an element. No value is lost or rounded.
///
/// | dtype | shown as |
/// | --- | --- |
/// | `b1` | `ubyte`: 0 is false, 1 is true |
/// | `f2` | `float` |
/// | `c8`, `c16` | a compound of two, `float` or `double`: the real part `r` and the imaginary part `i` |
/// | `M8`, `m8` | `int64`, the number stored; NaT is the lowest, -9223372036854775808 |
/// | `U`, `vlen-utf8` | `string` |
/// | `vlen-bytes` | `ubyte(*)`, netCDF's type of rows of any length |
///
/// Structures, `V`, `O` with other codecs, numbers of 12 and more bytes and elements without size are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetcdfView {
    /// One value of this type.
    Plain(NcType),
    /// Two values of this type.
    Complex(NcType),
    /// A row of `ubyte` of any length.
    Bytes,
}

impl NetcdfView {
    /// The view of elements of a type that netCDF lacks; `None` if they cannot be shown.
    #[must_use]
    pub fn of(dtype: &Dtype) -> Option<Self> {
        Some(match (dtype.kind(), dtype.size()) {
            (Kind::Bool, _) => Self::Plain(NcType::UByte),
            (Kind::Float, 2) => Self::Plain(NcType::Float),
            (Kind::Complex, 8) => Self::Complex(NcType::Float),
            (Kind::Complex, 16) => Self::Complex(NcType::Double),
            (Kind::DateTime | Kind::TimeDelta, _) => Self::Plain(NcType::Int64),
            (Kind::Unicode, 1..) | (Kind::VlenText, _) => Self::Plain(NcType::String),
            (Kind::VlenBytes, _) => Self::Bytes,
            _ => return dtype.nc_type(false).map(Self::Plain),
        })
    }

    /// The type of a plain element; `None` for other elements.
    #[must_use]
    pub fn plain(self) -> Option<NcType> {
        match self {
            Self::Plain(nc_type) => Some(nc_type),
            Self::Complex(_) | Self::Bytes => None,
        }
    }

    /// The type of the values that [`Value::from_elements`] gives.
    #[must_use]
    pub fn nc_type(self) -> NcType {
        match self {
            Self::Plain(nc_type) | Self::Complex(nc_type) => nc_type,
            Self::Bytes => NcType::String,
        }
    }
}

impl Variable {
    /// The view of its elements, whether or not netCDF has their type; `None` if they cannot be shown.
    #[must_use]
    pub fn shown(&self) -> Option<NetcdfView> {
        let of_dtype = || NetcdfView::of(&self.dtype).filter(|_| self.dtype.kind() != Kind::Other);
        self.nc_type.map(NetcdfView::Plain).or_else(of_dtype)
    }
}

impl Value {
    /// Returns the values of whole elements in the machine's byte order, as slab reads return them, in the type in
    /// which they are [shown](NetcdfView); two values for each complex number. Every `S` gives strings; for netCDF's
    /// `char` and elements of any length, use [`StringArray`](crate::StringArray) and [`Value::from_native_bytes`].
    ///
    /// Returns `None` for elements that cannot be shown, a length that is not a multiple of the element size, and codes
    /// in `U` that are not characters.
    ///
    /// ```
    /// use ncz_model::{Dtype, Value};
    ///
    /// let half = Dtype::parse("<f2")?;
    /// let values = Value::from_elements(&half, &0x3e00u16.to_ne_bytes());
    /// assert_eq!(values, Some(Value::from(1.5f32)));
    /// # Ok::<(), ncz_model::DtypeError>(())
    /// ```
    #[must_use]
    pub fn from_elements(dtype: &Dtype, bytes: &[u8]) -> Option<Self> {
        let size = dtype.size();
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return None;
        }
        let shown = NetcdfView::of(dtype)?;
        match dtype.kind() {
            Kind::Float if size == 2 => {
                let halves = bytes.as_chunks::<2>().0.iter();
                Some(Self::Float(halves.map(|half| from_half(u16::from_ne_bytes(*half))).collect()))
            }
            Kind::Unicode => bytes
                .chunks_exact(size)
                .map(|codes| text_of_codes(codes).ok())
                .collect::<Option<_>>()
                .map(Self::String),
            Kind::Complex => Self::from_native_bytes(shown.nc_type(), size / 2, bytes),
            _ => Self::from_native_bytes(shown.nc_type(), size, bytes),
        }
    }
}

/// Returns the text of code points without its NUL padding. The error is a code that is not a character.
pub(crate) fn text_of_codes(codes: &[u8]) -> Result<Vec<u8>, u32> {
    let codes = codes.as_chunks::<4>().0;
    let len = codes.iter().rposition(|code| *code != [0; 4]).map_or(0, |last| last + 1);
    let letter = |code: &[u8; 4]| {
        let code = u32::from_ne_bytes(*code);
        char::from_u32(code).ok_or(code)
    };
    codes.iter().take(len).map(letter).collect::<Result<String, u32>>().map(String::into_bytes)
}

/// Converts the bits of a half-precision number to a float, which is exact.
fn from_half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        0 => {
            let magnitude = fraction as f32 * 2f32.powi(-24);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(dtype: &str, bytes: &[u8]) -> Option<Value> {
        Value::from_elements(&Dtype::parse(dtype).unwrap(), bytes)
    }

    #[test]
    fn half_precision_becomes_the_same_number() {
        for (bits, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 2f32.powi(-14)),
            (0x0001, 2f32.powi(-24)),
            (0x83ff, -1023.0 * 2f32.powi(-24)),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(from_half(bits).to_bits(), number.to_bits(), "{bits:#x}");
        }
        assert!(from_half(0x8000).is_sign_negative());
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn elements_become_values_without_loss() {
        assert_eq!(value("|b1", &[1, 0]), Some(Value::UByte(vec![1, 0])));
        assert_eq!(value("<M8[ns]", &i64::MIN.to_ne_bytes()), Some(Value::from(i64::MIN)));
        assert_eq!(value("<m8[s]", &(-3i64).to_ne_bytes()), Some(Value::from(-3i64)));
        let complex = [1.5f32.to_ne_bytes(), (-2f32).to_ne_bytes()].concat();
        assert_eq!(value("<c8", &complex), Some(Value::from(vec![1.5f32, -2.0])));
        let codes = ['é', '\0', 'x', '\0'].map(|letter| u32::from(letter).to_ne_bytes()).concat();
        assert_eq!(value("<U2", &codes), Some(Value::strings(["é", "x"])));
        assert_eq!(value("<U4", &codes), Some(Value::strings(["é\0x"])));
        assert_eq!(value("|S2", b"ab\0c"), Some(Value::strings(["ab", "\0c"])));
        assert_eq!(value("<U1", &0xd800u32.to_ne_bytes()), None);
        assert_eq!(value("<i4", &[0; 6]), None);
        for dtype in ["|V3", "|O", "<f16", "<c32", "|S0", "<U0"] {
            assert_eq!(NetcdfView::of(&Dtype::parse(dtype).unwrap()), None, "{dtype}");
        }
    }
}
