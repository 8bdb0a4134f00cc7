//! Typed values: the values of attributes, and decoded elements for printing.

use crate::dtype::{Dtype, NcType};

/// A row of values of one netCDF type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `byte`
    Byte(Vec<i8>),
    /// `ubyte`
    UByte(Vec<u8>),
    /// `short`
    Short(Vec<i16>),
    /// `ushort`
    UShort(Vec<u16>),
    /// `int`
    Int(Vec<i32>),
    /// `uint`
    UInt(Vec<u32>),
    /// `int64`
    Int64(Vec<i64>),
    /// `uint64`
    UInt64(Vec<u64>),
    /// `float`
    Float(Vec<f32>),
    /// `double`
    Double(Vec<f64>),
    /// `char`: the bytes of the text; UTF-8 in attributes, any bytes in variables.
    Char(Vec<u8>),
    /// `string`: each the bytes of one text, without padding.
    String(Vec<Vec<u8>>),
}

impl Value {
    /// Text as netCDF's `char`.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Char(text.into().into_bytes())
    }

    /// Texts as netCDF's `string`.
    #[must_use]
    pub fn strings<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::String(texts.into_iter().map(|text| text.into().into_bytes()).collect())
    }

    /// No values of this type.
    #[must_use]
    pub fn empty(nc_type: NcType) -> Self {
        match nc_type {
            NcType::Byte => Self::Byte(Vec::new()),
            NcType::Char => Self::Char(Vec::new()),
            NcType::Short => Self::Short(Vec::new()),
            NcType::Int => Self::Int(Vec::new()),
            NcType::Float => Self::Float(Vec::new()),
            NcType::Double => Self::Double(Vec::new()),
            NcType::UByte => Self::UByte(Vec::new()),
            NcType::UShort => Self::UShort(Vec::new()),
            NcType::UInt => Self::UInt(Vec::new()),
            NcType::Int64 => Self::Int64(Vec::new()),
            NcType::UInt64 => Self::UInt64(Vec::new()),
            NcType::String => Self::String(Vec::new()),
        }
    }

    /// The netCDF type.
    #[must_use]
    pub fn nc_type(&self) -> NcType {
        match self {
            Self::Byte(_) => NcType::Byte,
            Self::UByte(_) => NcType::UByte,
            Self::Short(_) => NcType::Short,
            Self::UShort(_) => NcType::UShort,
            Self::Int(_) => NcType::Int,
            Self::UInt(_) => NcType::UInt,
            Self::Int64(_) => NcType::Int64,
            Self::UInt64(_) => NcType::UInt64,
            Self::Float(_) => NcType::Float,
            Self::Double(_) => NcType::Double,
            Self::Char(_) => NcType::Char,
            Self::String(_) => NcType::String,
        }
    }

    /// The number of values; of bytes for `char`.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Byte(values) => values.len(),
            Self::UByte(values) | Self::Char(values) => values.len(),
            Self::Short(values) => values.len(),
            Self::UShort(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::UInt(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::UInt64(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::String(values) => values.len(),
        }
    }

    /// Adds values of the same type; those of another type are not added.
    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Byte(values), Self::Byte(other)) => values.extend(other),
            (Self::UByte(values), Self::UByte(other)) | (Self::Char(values), Self::Char(other)) => {
                values.extend(other);
            }
            (Self::Short(values), Self::Short(other)) => values.extend(other),
            (Self::UShort(values), Self::UShort(other)) => values.extend(other),
            (Self::Int(values), Self::Int(other)) => values.extend(other),
            (Self::UInt(values), Self::UInt(other)) => values.extend(other),
            (Self::Int64(values), Self::Int64(other)) => values.extend(other),
            (Self::UInt64(values), Self::UInt64(other)) => values.extend(other),
            (Self::Float(values), Self::Float(other)) => values.extend(other),
            (Self::Double(values), Self::Double(other)) => values.extend(other),
            (Self::String(values), Self::String(other)) => values.extend(other),
            _ => {}
        }
    }

    /// Keeps the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Byte(values) => values.truncate(len),
            Self::UByte(values) => values.truncate(len),
            Self::Char(values) => values.truncate(len),
            Self::Short(values) => values.truncate(len),
            Self::UShort(values) => values.truncate(len),
            Self::Int(values) => values.truncate(len),
            Self::UInt(values) => values.truncate(len),
            Self::Int64(values) => values.truncate(len),
            Self::UInt64(values) => values.truncate(len),
            Self::Float(values) => values.truncate(len),
            Self::Double(values) => values.truncate(len),
            Self::String(values) => values.truncate(len),
        }
    }

    /// Tests whether it has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of a `char` value, if it is UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Char(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The first value as an integer, if the type is an integer type.
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Byte(values) => values.first().copied().map(i128::from),
            Self::UByte(values) => values.first().copied().map(i128::from),
            Self::Short(values) => values.first().copied().map(i128::from),
            Self::UShort(values) => values.first().copied().map(i128::from),
            Self::Int(values) => values.first().copied().map(i128::from),
            Self::UInt(values) => values.first().copied().map(i128::from),
            Self::Int64(values) => values.first().copied().map(i128::from),
            Self::UInt64(values) => values.first().copied().map(i128::from),
            _ => None,
        }
    }

    /// Reads whole elements in the *machine's* byte order, as slab reads return them.
    ///
    /// `element_size` is the size of the dtype. It matters for strings, whose NUL padding is removed. Returns `None` if
    /// the length is not a multiple of the element size, or the size does not fit the type.
    #[must_use]
    pub fn from_native_bytes(nc_type: NcType, element_size: usize, bytes: &[u8]) -> Option<Self> {
        if element_size == 0 || !bytes.len().is_multiple_of(element_size) {
            return None;
        }
        if nc_type.size().is_some_and(|size| size != element_size) {
            return None;
        }
        Some(match nc_type {
            NcType::Byte => Self::Byte(numbers(bytes, i8::from_ne_bytes)),
            NcType::UByte => Self::UByte(bytes.to_vec()),
            NcType::Char => Self::Char(bytes.to_vec()),
            NcType::Short => Self::Short(numbers(bytes, i16::from_ne_bytes)),
            NcType::UShort => Self::UShort(numbers(bytes, u16::from_ne_bytes)),
            NcType::Int => Self::Int(numbers(bytes, i32::from_ne_bytes)),
            NcType::UInt => Self::UInt(numbers(bytes, u32::from_ne_bytes)),
            NcType::Int64 => Self::Int64(numbers(bytes, i64::from_ne_bytes)),
            NcType::UInt64 => Self::UInt64(numbers(bytes, u64::from_ne_bytes)),
            NcType::Float => Self::Float(numbers(bytes, f32::from_ne_bytes)),
            NcType::Double => Self::Double(numbers(bytes, f64::from_ne_bytes)),
            NcType::String => {
                Self::String(bytes.chunks_exact(element_size).map(|text| unpadded(text).to_vec()).collect())
            }
        })
    }

    /// Reads whole elements in the byte order of `dtype`, as in decoded chunks.
    ///
    /// Returns `None` in the cases of [`Value::from_native_bytes`].
    #[must_use]
    pub fn from_stored_bytes(nc_type: NcType, dtype: &Dtype, bytes: &[u8]) -> Option<Self> {
        if dtype.is_variable_length() {
            // The bytes are those of one element.
            return (nc_type == NcType::String).then(|| Self::String(vec![bytes.to_vec()]));
        }
        if !dtype.is_swapped() {
            return Self::from_native_bytes(nc_type, dtype.size(), bytes);
        }
        let mut native = bytes.to_vec();
        for unit in native.chunks_exact_mut(dtype.swap_unit().max(1)) {
            unit.reverse();
        }
        Self::from_native_bytes(nc_type, dtype.size(), &native)
    }

    /// Returns the values as elements in the machine's byte order. Strings are padded with NUL to `element_size`.
    ///
    /// Returns `None` if a string is longer than `element_size`: strings are never cut silently.
    #[must_use]
    pub fn to_native_bytes(&self, element_size: usize) -> Option<Vec<u8>> {
        Some(match self {
            Self::Byte(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::UByte(values) | Self::Char(values) => values.clone(),
            Self::Short(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::UShort(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::Int(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::UInt(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::Int64(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::UInt64(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::Float(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::Double(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Self::String(values) => {
                let mut bytes = Vec::with_capacity(values.len().checked_mul(element_size)?);
                for value in values {
                    let padding = element_size.checked_sub(value.len())?;
                    bytes.extend_from_slice(value);
                    bytes.resize(bytes.len() + padding, 0);
                }
                bytes
            }
        })
    }

    /// Returns the values as elements in the byte order of `dtype`.
    ///
    /// Returns `None` in the case of [`Value::to_native_bytes`].
    #[must_use]
    pub fn to_stored_bytes(&self, dtype: &Dtype) -> Option<Vec<u8>> {
        let mut bytes = self.to_native_bytes(dtype.size())?;
        if dtype.is_swapped() {
            for unit in bytes.chunks_exact_mut(dtype.swap_unit().max(1)) {
                unit.reverse();
            }
        }
        Some(bytes)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

macro_rules! from_numbers {
    ($($number:ty => $variant:ident),*) => {$(
        impl From<$number> for Value {
            fn from(value: $number) -> Self {
                Self::$variant(vec![value])
            }
        }
        impl From<Vec<$number>> for Value {
            fn from(values: Vec<$number>) -> Self {
                Self::$variant(values)
            }
        }
    )*};
}

from_numbers!(
    i8 => Byte, u8 => UByte, i16 => Short, u16 => UShort, i32 => Int, u32 => UInt, i64 => Int64, u64 => UInt64,
    f32 => Float, f64 => Double
);

fn numbers<const N: usize, T>(bytes: &[u8], from: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| from(*chunk)).collect()
}

/// The text without its NUL padding.
pub(crate) fn unpadded(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_read_back_equal_in_both_orders() {
        let values = [
            Value::from(vec![1i16, -2]),
            Value::from(vec![1.5f32, f32::INFINITY]),
            Value::from(vec![u64::MAX]),
            Value::strings(["", "abc"]),
        ];
        for value in values {
            for order in [crate::ByteOrder::Little, crate::ByteOrder::Big] {
                let dtype = value.nc_type().dtype(order, 5);
                let bytes = value.to_stored_bytes(&dtype).unwrap();
                assert_eq!(Value::from_stored_bytes(value.nc_type(), &dtype, &bytes), Some(value.clone()));
            }
        }
        assert_eq!(Value::from(258u16).to_stored_bytes(&Dtype::parse(">u2").unwrap()), Some(vec![1, 2]));
    }

    #[test]
    fn a_string_longer_than_its_element_is_not_cut() {
        assert_eq!(Value::strings(["abcd"]).to_native_bytes(3), None);
    }

    #[test]
    fn a_length_that_is_not_a_multiple_of_the_element_is_refused() {
        assert_eq!(Value::from_native_bytes(NcType::Int, 4, &[0; 6]), None);
        assert_eq!(Value::from_native_bytes(NcType::Int, 2, &[0; 4]), None);
    }
}
