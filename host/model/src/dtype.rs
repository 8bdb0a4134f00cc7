//! Element types: the dtype strings of Zarr v2 and the types of netCDF.

use std::fmt;

use crate::json::Json;

use crate::json;
use crate::limits;

/// The kind of an element (the letter of a Zarr v2 dtype).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `b`: one byte, 0 or 1.
    Bool,
    /// `i`: two's complement integer.
    Int,
    /// `u`: unsigned integer.
    UInt,
    /// `f`: IEEE 754 number.
    Float,
    /// `c`: two IEEE 754 numbers.
    Complex,
    /// `S`: bytes of a fixed length, padded with NUL.
    Bytes,
    /// `U`: UTF-32 text of a fixed length, padded with NUL.
    Unicode,
    /// `M`: 64-bit count of a unit since 1970.
    DateTime,
    /// `m`: 64-bit count of a unit.
    TimeDelta,
    /// Text of any length in UTF-8: `|O` with the filter `vlen-utf8` in version 2, `string` in version 3.
    VlenText,
    /// Bytes of any length: `|O` with the filter `vlen-bytes` in version 2, `variable_length_bytes` in version 3.
    VlenBytes,
    /// `V`, `O`, structures: kept as text and not interpreted.
    Other,
}

/// Order of the bytes in an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first, `<`.
    Little,
    /// Most significant byte first, `>`.
    Big,
    /// No order: elements of one byte, or without a byte order.
    None,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// The type of an array's elements as Zarr v2 writes it (Zarr v2 spec, "Data type encoding").
///
/// Types that netCDF lacks keep their text, so that datasets that use them can be opened.
///
/// ```
/// use ncz_model::{ByteOrder, Dtype, Kind};
///
/// let dtype = Dtype::parse(">i2")?;
/// assert_eq!((dtype.kind(), dtype.size(), dtype.order()), (Kind::Int, 2, ByteOrder::Big));
/// assert!(Dtype::parse("|i2").is_err());
/// # Ok::<(), ncz_model::DtypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    kind: Kind,
    size: usize,
    order: ByteOrder,
    text: String,
}

/// Why a dtype was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DtypeError {
    /// The text is not a dtype.
    #[error("{text:?} is not a dtype; write for instance \"<f4\"")]
    Malformed {
        /// The dtype as written.
        text: String,
    },
    /// A type of several bytes has no byte order.
    #[error("{text:?} has {size} bytes but no byte order; write \"<\" or \">\" before it")]
    NoByteOrder {
        /// The dtype as written.
        text: String,
        /// Size of an element in bytes.
        size: usize,
    },
    /// A data type of Zarr v3 that is not supported.
    #[error("the data type {text} cannot be read: {reason}")]
    Unknown {
        /// The data type as JSON.
        text: String,
        /// What is wrong or missing.
        reason: String,
    },
    /// A number type has a size that does not exist.
    #[error("{text:?}: there is no such type of {size} bytes")]
    Size {
        /// The dtype as written.
        text: String,
        /// Size of an element in bytes.
        size: usize,
    },
}

impl Dtype {
    /// Parses a dtype string such as `<f4`, `|u1`, `>S1`, `<M8[ns]`.
    ///
    /// One-byte types are accepted with any prefix or none, as netcdf-c writes `<i1`.
    ///
    /// # Errors
    /// A type of several bytes has no `<` or `>` (readers disagree about its order), or the text is not a dtype.
    pub fn parse(text: &str) -> Result<Self, DtypeError> {
        let malformed = || DtypeError::Malformed { text: text.to_owned() };
        let mut chars = text.chars();
        let first = chars.next().ok_or_else(malformed)?;
        let (prefix, rest) = match first {
            '<' | '>' | '|' | '=' => (Some(first), chars.as_str()),
            _ => (None, text),
        };
        if prefix == Some('=') {
            return Err(malformed());
        }
        let mut chars = rest.chars();
        let letter = chars.next().ok_or_else(malformed)?;
        let tail = chars.as_str();
        let (digits, unit) = match tail.find('[') {
            Some(at) => tail.split_at(at),
            None => (tail, ""),
        };
        let kind = match letter {
            'b' | '?' => Kind::Bool,
            'i' => Kind::Int,
            'u' => Kind::UInt,
            'f' => Kind::Float,
            'c' => Kind::Complex,
            'S' | 'a' => Kind::Bytes,
            'U' => Kind::Unicode,
            'M' => Kind::DateTime,
            'm' => Kind::TimeDelta,
            'V' | 'O' | 'J' => Kind::Other,
            _ => return Err(malformed()),
        };
        let unit_ok = match kind {
            Kind::DateTime | Kind::TimeDelta => unit.is_empty() || (unit.ends_with(']') && unit.len() > 2),
            _ => unit.is_empty(),
        };
        let count: u64 = match digits {
            "" if letter == 'O' => 8,
            "" if letter == '?' => 1,
            _ if digits.len() <= 10
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && !digits.is_empty() =>
            {
                digits.parse().map_err(|_| malformed())?
            }
            _ => return Err(malformed()),
        };
        let bytes = if kind == Kind::Unicode { count * 4 } else { count };
        if !unit_ok || bytes > limits::ELEMENT_BYTES {
            return Err(malformed());
        }
        let size = usize::try_from(bytes).map_err(|_| malformed())?;
        let sizes: &[usize] = match kind {
            Kind::Bool => &[1],
            Kind::Int | Kind::UInt => &[1, 2, 4, 8],
            Kind::Float => &[2, 4, 8, 12, 16],
            Kind::Complex => &[8, 16, 24, 32],
            Kind::DateTime | Kind::TimeDelta => &[8],
            _ => &[],
        };
        if !sizes.is_empty() && !sizes.contains(&size) {
            return Err(DtypeError::Size { text: text.to_owned(), size });
        }
        let ordered = size > 1 && !matches!(kind, Kind::Bytes | Kind::Other);
        let order = match prefix {
            _ if !ordered => ByteOrder::None,
            Some('<') => ByteOrder::Little,
            Some('>') => ByteOrder::Big,
            _ => return Err(DtypeError::NoByteOrder { text: text.to_owned(), size }),
        };
        Ok(Self { kind, size, order, text: text.to_owned() })
    }

    /// Reads the `dtype` of a `.zarray`: a string, or the list of a structure, which is kept as its text.
    ///
    /// # Errors
    /// As for [`Dtype::parse`]; or the JSON is neither a string nor a list.
    pub fn from_json(value: &Json) -> Result<Self, DtypeError> {
        match value {
            Json::String(text) => Self::parse(text),
            Json::Array(fields) if !fields.is_empty() => Ok(Self {
                kind: Kind::Other,
                size: structure_size(value, 0).unwrap_or(0),
                order: ByteOrder::None,
                text: json::to_text(value),
            }),
            _ => Err(DtypeError::Malformed { text: json::to_text(value) }),
        }
    }

    /// Returns the dtype of numbers of this kind; `order` is ignored if the size is 1.
    ///
    /// # Errors
    /// The size does not exist, or the order is missing.
    pub fn numeric(kind: Kind, size: usize, order: ByteOrder) -> Result<Self, DtypeError> {
        let letter = match kind {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            _ => return Err(DtypeError::Malformed { text: format!("{kind:?}{size}") }),
        };
        let prefix = match order {
            _ if size == 1 => '|',
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
            ByteOrder::None => '|',
        };
        Self::parse(&format!("{prefix}{letter}{size}"))
    }

    /// `>S1`, which NCZarr uses for netCDF's `char`.
    #[must_use]
    pub fn char() -> Self {
        Self { kind: Kind::Bytes, size: 1, order: ByteOrder::None, text: ">S1".to_owned() }
    }

    /// `|S<length>`, which NCZarr uses for netCDF's `string`.
    #[must_use]
    pub fn string(length: usize) -> Self {
        Self { kind: Kind::Bytes, size: length, order: ByteOrder::None, text: format!("|S{length}") }
    }

    /// Text of any length, `|O` in version 2. Its [`size`](Self::size) is 0.
    #[must_use]
    pub fn vlen_text() -> Self {
        Self { kind: Kind::VlenText, size: 0, order: ByteOrder::None, text: "|O".to_owned() }
    }

    /// Bytes of any length, `|O` in version 2. Its [`size`](Self::size) is 0.
    #[must_use]
    pub fn vlen_bytes() -> Self {
        Self { kind: Kind::VlenBytes, size: 0, order: ByteOrder::None, text: "|O".to_owned() }
    }

    /// Whether elements differ in length; if so, chunks are not arrays of flat elements.
    #[must_use]
    pub fn is_variable_length(&self) -> bool {
        matches!(self.kind, Kind::VlenText | Kind::VlenBytes)
    }

    /// The codec that serializes a chunk of such elements, by its name in both versions of Zarr; `None` if elements are
    /// flat.
    #[must_use]
    pub fn vlen_codec(&self) -> Option<&'static str> {
        match self.kind {
            Kind::VlenText => Some("vlen-utf8"),
            Kind::VlenBytes => Some("vlen-bytes"),
            _ => None,
        }
    }

    /// The kind of an element.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The size of an element in bytes; 0 only for elements of any length, structures of unknown layout, and `S0`,
    /// `U0`, `V0`.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// One element as which chunks that were never written read without a fill value: NaT for times, as in zarr-python,
    /// else zeros.
    #[must_use]
    pub fn no_fill(&self) -> Vec<u8> {
        let nat = i64::MIN;
        match (self.kind, self.is_swapped()) {
            (Kind::DateTime | Kind::TimeDelta, false) => nat.to_ne_bytes().to_vec(),
            (Kind::DateTime | Kind::TimeDelta, true) => nat.swap_bytes().to_ne_bytes().to_vec(),
            _ => vec![0; self.size],
        }
    }

    /// Order of the bytes in an element.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The same dtype with little-endian elements.
    #[must_use]
    pub fn to_little(&self) -> Self {
        let order = if self.order == ByteOrder::Big { ByteOrder::Little } else { self.order };
        let text = if order == self.order { self.text.clone() } else { self.text.replacen('>', "<", 1) };
        Self { order, text, ..*self }
    }

    /// The dtype as the document writes it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the bytes of an element must be swapped on this machine.
    #[must_use]
    pub fn is_swapped(&self) -> bool {
        self.order != ByteOrder::None && self.order != ByteOrder::NATIVE
    }

    /// The length in bytes of the unit that is swapped: half an element for complex numbers, 4 for `U`.
    #[must_use]
    pub fn swap_unit(&self) -> usize {
        match self.kind {
            Kind::Complex => self.size / 2,
            Kind::Unicode => 4,
            _ => self.size,
        }
    }

    /// The netCDF type, if there is one. With `char_text`, `>S1` means `char`, as in NCZarr data; in pure Zarr data it
    /// is a string of length 1.
    #[must_use]
    pub fn nc_type(&self, char_text: bool) -> Option<NcType> {
        Some(match (self.kind, self.size) {
            (Kind::Int, 1) => NcType::Byte,
            (Kind::Int, 2) => NcType::Short,
            (Kind::Int, 4) => NcType::Int,
            (Kind::Int, 8) => NcType::Int64,
            (Kind::UInt, 1) => NcType::UByte,
            (Kind::UInt, 2) => NcType::UShort,
            (Kind::UInt, 4) => NcType::UInt,
            (Kind::UInt, 8) => NcType::UInt64,
            (Kind::Float, 4) => NcType::Float,
            (Kind::Float, 8) => NcType::Double,
            (Kind::Bytes, 1) if char_text && self.text == ">S1" => NcType::Char,
            (Kind::Bytes, 1..) => NcType::String,
            (Kind::VlenText, _) => NcType::String,
            _ => return None,
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The atomic types of netCDF-4 (`nc_type` in netcdf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NcType {
    /// 8-bit signed integer.
    Byte,
    /// 8-bit text.
    Char,
    /// 16-bit signed integer.
    Short,
    /// 32-bit signed integer.
    Int,
    /// 32-bit IEEE 754 number.
    Float,
    /// 64-bit IEEE 754 number.
    Double,
    /// 8-bit unsigned integer.
    UByte,
    /// 16-bit unsigned integer.
    UShort,
    /// 32-bit unsigned integer.
    UInt,
    /// 64-bit signed integer.
    Int64,
    /// 64-bit unsigned integer.
    UInt64,
    /// Text of any length.
    String,
}

impl NcType {
    /// All types, in the order of their numbers in netcdf.h.
    pub const ALL: [Self; 12] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::UByte,
        Self::UShort,
        Self::UInt,
        Self::Int64,
        Self::UInt64,
        Self::String,
    ];

    /// The name in CDL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Char => "char",
            Self::Short => "short",
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::UByte => "ubyte",
            Self::UShort => "ushort",
            Self::UInt => "uint",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::String => "string",
        }
    }

    /// The number in netcdf.h, 1 (`byte`) to 12 (`string`).
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The type of a number in netcdf.h.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Size of an element in bytes; `None` for strings.
    #[must_use]
    pub fn size(self) -> Option<usize> {
        Some(match self {
            Self::Byte | Self::Char | Self::UByte => 1,
            Self::Short | Self::UShort => 2,
            Self::Int | Self::UInt | Self::Float => 4,
            Self::Int64 | Self::UInt64 | Self::Double => 8,
            Self::String => return None,
        })
    }

    /// The dtype of a new NCZarr array: `order` applies to elements of more than one byte (`None` means the machine's),
    /// and strings have `string_length` bytes.
    #[must_use]
    pub fn dtype(self, order: ByteOrder, string_length: usize) -> Dtype {
        let order = if order == ByteOrder::None { ByteOrder::NATIVE } else { order };
        let (kind, letter) = match self {
            Self::Char => return Dtype::char(),
            Self::String => return Dtype::string(string_length),
            Self::Byte | Self::Short | Self::Int | Self::Int64 => (Kind::Int, 'i'),
            Self::UByte | Self::UShort | Self::UInt | Self::UInt64 => (Kind::UInt, 'u'),
            Self::Float | Self::Double => (Kind::Float, 'f'),
        };
        let size = self.size().unwrap_or(1);
        let (prefix, order) = match order {
            _ if size == 1 => ('|', ByteOrder::None),
            ByteOrder::Big => ('>', ByteOrder::Big),
            _ => ('<', ByteOrder::Little),
        };
        Dtype { kind, size, order, text: format!("{prefix}{letter}{size}") }
    }
}

impl fmt::Display for NcType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The size of a structure, if every field gives its own: `[name, dtype]` or `[name, dtype, shape]`.
fn structure_size(value: &Json, depth: usize) -> Option<usize> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
    match value {
        Json::String(text) => Dtype::parse(text).ok().map(|dtype| dtype.size),
        Json::Array(fields) => fields.iter().try_fold(0usize, |sum, field| {
            let field = field.as_array()?;
            let one = structure_size(field.get(1)?, depth + 1)?;
            let count = match field.get(2) {
                None => 1,
                Some(Json::Array(shape)) => shape.iter().try_fold(1usize, |product, len| {
                    product.checked_mul(usize::try_from(len.as_u64()?).ok()?)
                })?,
                Some(len) => usize::try_from(len.as_u64()?).ok()?,
            };
            sum.checked_add(one.checked_mul(count)?)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn every_netcdf_type_converts_to_a_dtype_and_back() {
        for nc_type in NcType::ALL {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let dtype = nc_type.dtype(order, 16);
                assert_eq!(Dtype::parse(dtype.text()).unwrap(), dtype);
                assert_eq!(dtype.nc_type(true), Some(nc_type), "{dtype}");
            }
            assert_eq!(NcType::from_code(nc_type.code()), Some(nc_type));
        }
        assert_eq!(NcType::from_code(0), None);
        assert_eq!(NcType::from_code(13), None);
    }

    #[test]
    fn several_bytes_without_an_order_are_malformed() {
        for text in ["i2", "|i2", "f8", "|u4", "M8[ns]", "|U3"] {
            assert!(matches!(Dtype::parse(text), Err(DtypeError::NoByteOrder { .. })), "{text}");
        }
        for text in ["<i1", ">i1", "|i1", "i1", "<u1", "|b1", "|S7", "S7", "|V12", "|O"] {
            assert_eq!(Dtype::parse(text).unwrap().order(), ByteOrder::None, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_dtype_is_malformed() {
        for text in [
            "",
            "<",
            "<f",
            "f4 ",
            "<f-4",
            "<x4",
            "<f99999999999999999999",
            "<i3",
            "|S99999999999",
            "=f4",
            "<f4[ns]",
            "<é",
        ] {
            assert!(Dtype::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn types_that_netcdf_lacks_keep_their_text_and_size() {
        for (text, size) in
            [("|b1", 1), ("<f2", 2), ("<c16", 16), ("<U5", 20), ("<M8[ns]", 8), ("<m8[s]", 8), ("|V12", 12)]
        {
            let dtype = Dtype::parse(text).unwrap();
            assert_eq!((dtype.text(), dtype.size(), dtype.nc_type(true)), (text, size, None));
        }
        let structure = json!([["a", "<i4"], ["b", "<f8", [2, 3]]]);
        assert_eq!(Dtype::from_json(&structure).unwrap().size(), 52);
    }

    #[test]
    fn one_byte_text_is_a_char_only_in_nczarr_data() {
        let dtype = Dtype::char();
        assert_eq!(dtype.nc_type(true), Some(NcType::Char));
        assert_eq!(dtype.nc_type(false), Some(NcType::String));
        assert_eq!(Dtype::parse("|S1").unwrap().nc_type(true), Some(NcType::String));
    }
}
