//! Fill values: elements that were never written read as the fill value.

use std::sync::Arc;

use crate::json::Json;

use crate::dtype::{Dtype, Kind, NcType};
use crate::error::VariableError;
use crate::format::Format;
use crate::json;
use crate::user_value::Row;
use crate::value::Value;

pub mod base64;
mod parse;
mod v3;

pub use self::parse::{half_bits, integer};
pub use self::v3::no_fill_v3;

/// A fill value that fits its dtype.
#[derive(Clone, Debug, PartialEq)]
pub struct FillValue {
    bytes: Vec<u8>,
    json: Json,
    /// The value, if its bytes refer to what is in a heap of a file.
    row: Option<Arc<Row>>,
}

/// The encoding of text in the `fill_value` of byte strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillText {
    /// Plain text, as NCZarr writes it, and as netCDF files hold it.
    Plain,
    /// Base64, as the Zarr v2 specification requires. Text that is not Base64 is read as plain text.
    Base64,
}

impl FillText {
    /// The encoding in metadata of this format.
    #[must_use]
    pub fn of(format: Format) -> Self {
        if format.has_netcdf_model() { Self::Plain } else { Self::Base64 }
    }
}

impl FillValue {
    /// Reads the `fill_value` of a `.zarray` (Zarr v2 spec, "Fill value encoding"); `null` is `None`, and NaT for
    /// times, as which zarr-python reads it.
    ///
    /// Also accepted: an array of one value (netcdf-c 4.8), `0` for strings (zarr-python 2), bare `NaN` and `Infinity`.
    ///
    /// # Errors
    /// [`VariableError::Fill`] if the value has another kind, or is out of the type's range.
    pub fn from_json(json: &Json, dtype: &Dtype, text: FillText) -> Result<Option<Self>, VariableError> {
        let nat = Json::from("NaT");
        let json = match dtype.kind() {
            Kind::DateTime | Kind::TimeDelta if json.is_null() => &nat,
            _ if json.is_null() => return Ok(None),
            _ => json,
        };
        match parse::element(json, dtype, text) {
            // A bare word is written as in the specification.
            Some(bytes) => {
                let quoted = json::special(json).map(|special| Json::from(special.word()));
                Ok(Some(Self { bytes, json: quoted.unwrap_or_else(|| json.clone()), row: None }))
            }
            None => Err(VariableError::Fill { text: json::to_text(json), dtype: dtype.text().to_owned() }),
        }
    }

    /// Makes a fill value from the first of `value`, whose type must be that of `dtype`.
    ///
    /// # Errors
    /// [`VariableError::Fill`] if the type differs, the value is empty, or a string is too long for the dtype.
    pub fn from_value(value: &Value, dtype: &Dtype, text: FillText) -> Result<Self, VariableError> {
        let error = || VariableError::Fill { text: format!("{value:?}"), dtype: dtype.text().to_owned() };
        let is_char = value.nc_type() == NcType::Char;
        if dtype.nc_type(is_char) != Some(value.nc_type()) || (value.is_empty() && !is_char) {
            return Err(error());
        }
        let bytes = match value {
            Value::String(strings) if dtype.is_variable_length() => {
                strings.first().filter(|text| str::from_utf8(text).is_ok()).ok_or_else(error)?.clone()
            }
            _ => {
                let mut bytes = value.to_stored_bytes(dtype).ok_or_else(error)?;
                bytes.resize(bytes.len().max(dtype.size()), 0);
                bytes.truncate(dtype.size());
                bytes
            }
        };
        let json = parse::to_json(&bytes, value.nc_type(), dtype, text).ok_or_else(error)?;
        Ok(Self { bytes, json, row: None })
    }

    /// Makes a fill value from the bytes of an element in the byte order of its dtype.
    ///
    /// # Errors
    /// [`VariableError::Fill`] if the bytes are not those of an element, or metadata cannot hold it.
    pub fn from_bytes(bytes: &[u8], dtype: &Dtype) -> Result<Self, VariableError> {
        let json = || match (dtype.kind(), dtype.nc_type(true)) {
            (Kind::Bytes, _) => {
                let plain = parse::text_json(bytes, FillText::Plain);
                plain.or_else(|| parse::text_json(bytes, FillText::Base64))
            }
            (_, Some(nc_type)) => parse::to_json(bytes, nc_type, dtype, FillText::Plain),
            (Kind::Complex, _) => {
                let part = Dtype::numeric(Kind::Float, dtype.size() / 2, dtype.order()).ok()?;
                let (real, imaginary) = bytes.split_at_checked(part.size())?;
                let parts =
                    [Self::from_bytes(real, &part).ok()?.json, Self::from_bytes(imaginary, &part).ok()?.json];
                Some(Json::from(parts.to_vec()))
            }
            // Elements without a meaning, as in version 2.
            (Kind::Other, _) => Some(Json::String(base64::encode(bytes))),
            (Kind::Float, None) => {
                let mut native = bytes.to_vec();
                if dtype.is_swapped() {
                    native.reverse();
                }
                let Some(Value::Float(values)) = Value::from_elements(dtype, &native) else { return None };
                let value = values.first()?;
                Some(parse::float_json(f64::from(*value), &format!("{value:e}")))
            }
            _ => None,
        };
        let fits = dtype.is_variable_length() || bytes.len() == dtype.size();
        match json().filter(|_| fits) {
            Some(json) => Ok(Self { bytes: bytes.to_vec(), json, row: None }),
            None => Err(VariableError::Fill { text: format!("{bytes:?}"), dtype: dtype.text().to_owned() }),
        }
    }

    /// Adds the value that the bytes stand for, if they refer to what is in a heap of a file.
    #[must_use]
    pub fn with_row(self, row: Row) -> Self {
        Self { row: Some(Arc::new(row)), ..self }
    }

    /// The value of a user-defined type whose bytes refer to what is in a heap of a file.
    #[must_use]
    pub fn row(&self) -> Option<&Row> {
        self.row.as_deref()
    }

    /// Returns the same value with the encoding `text` for byte strings.
    ///
    /// # Errors
    /// [`VariableError::Fill`] if the bytes are not UTF-8, which [`FillText::Plain`] cannot hold.
    pub fn respelled(self, dtype: &Dtype, text: FillText) -> Result<Self, VariableError> {
        if dtype.kind() != Kind::Bytes {
            return Ok(self);
        }
        match parse::text_json(&self.bytes, text) {
            Some(json) => Ok(Self { json, ..self }),
            None => {
                Err(VariableError::Fill { text: format!("{:?}", self.bytes), dtype: dtype.text().to_owned() })
            }
        }
    }

    /// The element in the byte order of the dtype, with exactly its size, or of any length for variable-length types.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the same value of a dtype as an element with the other byte order.
    #[must_use]
    pub fn swapped(mut self, dtype: &Dtype) -> Self {
        self.bytes.chunks_exact_mut(dtype.swap_unit().max(1)).for_each(<[u8]>::reverse);
        self
    }

    /// Returns the same bytes as an element of another type of the same size.
    #[must_use]
    pub fn relabelled(self, dtype: &Dtype) -> Self {
        let json = parse::text_json(&self.bytes, FillText::Plain).filter(|_| dtype.kind() == Kind::Bytes);
        Self { json: json.unwrap_or(self.json), bytes: self.bytes, row: self.row }
    }

    /// The value as `.zarray` writes it.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// The value in its netCDF type, or in the type in which it is [shown](crate::NetcdfView).
    #[must_use]
    pub fn value(&self, nc_type: NcType, dtype: &Dtype) -> Option<Value> {
        let shown = || {
            let mut native = self.bytes.clone();
            if dtype.is_swapped() {
                native.chunks_exact_mut(dtype.swap_unit().max(1)).for_each(<[u8]>::reverse);
            }
            Value::from_elements(dtype, &native).filter(|value| value.nc_type() == nc_type)
        };
        Value::from_stored_bytes(nc_type, dtype, &self.bytes).or_else(shown)
    }

    /// Whether all its bytes are 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.bytes.iter().all(|&byte| byte == 0)
    }

    /// Whether it is netCDF's default for the type, also as netcdf-c writes it with 6 digits.
    #[must_use]
    pub fn is_default(&self, nc_type: NcType, dtype: &Dtype) -> bool {
        let Some(value) = self.value(nc_type, dtype) else { return false };
        match (&value, default_fill(nc_type)) {
            (Value::Double(values), _) => {
                values.iter().all(|&value| value == NC_FILL_DOUBLE || value == 9.96921e36)
            }
            (value, default) => *value == default,
        }
    }
}

const NC_FILL_DOUBLE: f64 = 9.969_209_968_386_869e36;

/// netCDF's default fill value of a type (`NC_FILL_*` in netcdf.h).
#[must_use]
pub fn default_fill(nc_type: NcType) -> Value {
    match nc_type {
        NcType::Byte => Value::from(-127i8),
        NcType::Char => Value::Char(vec![0]),
        NcType::Short => Value::from(-32767i16),
        NcType::Int => Value::from(-2_147_483_647i32),
        NcType::Float => Value::from(9.969_21e36f32),
        NcType::Double => Value::from(NC_FILL_DOUBLE),
        NcType::UByte => Value::from(255u8),
        NcType::UShort => Value::from(65535u16),
        NcType::UInt => Value::from(u32::MAX),
        NcType::Int64 => Value::from(-9_223_372_036_854_775_806i64),
        NcType::UInt64 => Value::from(18_446_744_073_709_551_614u64),
        NcType::String => Value::strings([""]),
    }
}
