//! The value that readers mask: the elements of a variable with this value are missing.
//!
//! | format | what its readers mask |
//! | --- | --- |
//! | NCZarr, netCDF | the attribute `_FillValue`; without it netCDF's default fill value of the type (netCDF4) |
//! | Zarr version 3 | the attribute `_FillValue` (xarray) |
//! | Zarr version 2 | `fill_value`, which xarray writes in place of the attribute, and uses if both differ |
//!
//! In Zarr version 2, chunks that were never written also read as `fill_value`. zarr-python always writes a
//! `fill_value`, by default 0, and masks nothing. So `fill_value` becomes the attribute `_FillValue` on reading only if
//! all of these conditions hold:
//!
//! - The array holds integers or floating-point numbers, has `_ARRAY_DIMENSIONS`, without which xarray does not open
//!   it, and has no attribute `_FillValue`.
//! - The value is not netCDF's default fill value of the type, which netCDF4 masks without the attribute.
//! - The value is neither 0, which zarr-python always writes, nor netCDF's default of a type of one byte, which ncdump
//!   prints as a number without the attribute; or it was chosen: the array has `scale_factor` or `add_offset`, or xarray
//!   wrote the dataset. In that case some array has the `fill_value` `null` or NaN, which xarray writes for integers and
//!   floating-point numbers without missing values, and none has `_FillValue` in its `.zattrs`, where netcdf-c writes it.

use crate::json::Json;

use crate::attribute::Attribute;
use crate::dtype::{Dtype, Kind, NcType};
use crate::fill::{FillValue, base64, default_fill};
use crate::format::Format;
use crate::hierarchy::{Group, Hierarchy, Variable};
use crate::netcdf_view::NetcdfView;
use crate::value::Value;

/// The attribute that holds the masked value.
pub const FILL_VALUE: &str = "_FillValue";

impl Variable {
    /// The value that readers of `format` mask in this variable, in the type in which it is [shown](crate::NetcdfView).
    ///
    /// ```
    /// use ncz_model::{Format, Hierarchy, NcType, NewFill, VariableBuilder, Value};
    ///
    /// let mut dataset = Hierarchy::new(Format::NCZARR);
    /// let depth = VariableBuilder::new("depth", NcType::Float).fill(NewFill::Value(Value::from(-999.0f32)));
    /// let depth = dataset.add_variable("/", depth)?;
    /// assert_eq!(depth.masked_value(Format::NCZARR), Some(Value::from(-999.0f32)));
    /// # Ok::<(), ncz_model::MetadataError>(())
    /// ```
    #[must_use]
    pub fn masked_value(&self, format: Format) -> Option<Value> {
        let nc_type = self.shown()?.plain()?;
        if let Some(attribute) = self.attribute(FILL_VALUE) {
            let is_named = format == Format::Zarr2 && self.is_named() && !self.has_ambiguous_fill();
            let fill = if is_named { self.fill_number() } else { None };
            return fill.or_else(|| number_of_type(&attribute.value, nc_type));
        }
        match format {
            Format::Zarr3 => None,
            Format::Zarr2 => self.fill_number().filter(|_| self.has_default_fill()),
            // netCDF4 reads other numbers, and masks none.
            Format::Netcdf(_) if self.is_read_as_unsigned() => None,
            // Also if nothing is filled, except for bytes. The metadata may hold it with fewer digits.
            Format::Nczarr(_) | Format::Nczarr3 | Format::Netcdf(_) => {
                let is_masked = self.has_default_fill() || self.fill.is_none() && self.dtype.size() > 1;
                let is_number = self.is_number() && self.nc_type.is_some();
                (is_masked && is_number).then(|| default_fill(nc_type))
            }
        }
    }

    /// The complex number that xarray masks in Zarr version 3, which the attribute `_FillValue` has as two numbers in
    /// Base64; `None`: it masks none.
    #[must_use]
    pub fn complex_mask(&self) -> Option<FillValue> {
        let Json::Array(parts) = self.attribute(FILL_VALUE)?.json.as_ref()? else { return None };
        if self.dtype.kind() != Kind::Complex {
            return None;
        }
        let part = Dtype::numeric(Kind::Float, self.dtype.size() / 2, self.dtype.order()).ok()?;
        let bytes = parts.iter().map(|json| {
            let number = f64::from_le_bytes(base64::decode(json.as_str()?)?.try_into().ok()?);
            number_of_type(&Value::from(number), part.nc_type(false)?)?.to_stored_bytes(&part)
        });
        FillValue::from_bytes(&bytes.collect::<Option<Vec<_>>>()?.concat(), &self.dtype).ok()
    }

    /// Whether xarray can read it in Zarr version 2: its dimensions have names.
    #[must_use]
    pub fn is_named(&self) -> bool {
        let names = self.documents.zattrs.as_deref().and_then(|zattrs| zattrs.get("_ARRAY_DIMENSIONS"));
        names.and_then(Json::as_array).is_some_and(|names| names.len() == self.stored_shape().len())
    }

    /// Whether xarray takes the fill value for the missing value in Zarr version 2, where no attribute says which it is.
    ///
    /// It does so for all types but times. A NaN is missing whether it is the fill value or not, and a dataset in which a
    /// structure has a fill value is not opened.
    ///
    /// ```
    /// use ncz_model::{Format, Hierarchy, NcType, VariableBuilder};
    ///
    /// let mut dataset = Hierarchy::new(Format::Zarr2);
    /// // Its fill value is netCDF's default.
    /// let count = dataset.add_variable("/", VariableBuilder::new("count", NcType::Int))?;
    /// assert!(count.is_masked_by_fill());
    /// # Ok::<(), ncz_model::MetadataError>(())
    /// ```
    #[must_use]
    pub fn is_masked_by_fill(&self) -> bool {
        let is_nan = || self.fill_number().and_then(|number| float(&number)).is_some_and(f64::is_nan);
        self.fill.is_some()
            && self.attribute(FILL_VALUE).is_none()
            && !matches!(self.dtype.kind(), Kind::DateTime | Kind::TimeDelta | Kind::Other)
            && !is_nan()
    }

    /// Whether xarray masks the fill value of this array of Zarr version 2, while `ncz` does not: it masks only numbers,
    /// and takes 0 for the value that the writer always writes.
    #[must_use]
    pub fn has_unmasked_fill(&self) -> bool {
        let is_zero = self.fill.as_ref().is_some_and(FillValue::is_zero);
        self.is_masked_by_fill() && self.is_named() && (is_zero || !self.is_number())
    }

    /// Whether xarray masks the fill value of this array in Zarr version 2, and not its attribute `_FillValue`, which is
    /// another number.
    #[must_use]
    pub fn has_overruled_mask(&self) -> bool {
        let Some((attribute, fill)) = self.attribute(FILL_VALUE).zip(self.fill.as_ref()) else {
            return false;
        };
        let nc_type = self.shown().and_then(NetcdfView::plain);
        let Some(fill) = nc_type.and_then(|nc_type| fill.value(nc_type, &self.dtype)) else { return false };
        // Both may spell one number, signed and unsigned.
        let is_spelt_unsigned = || {
            let difference =
                fill.as_integer().zip(attribute.value.as_integer()).map(|(one, other)| one - other);
            difference.is_some_and(|difference| difference.unsigned_abs() == 1 << (8 * self.dtype.size()))
        };
        let is_compared = self.is_number() || self.dtype.kind() == Kind::Bool;
        let is_same =
            is_same_number(&fill, &attribute.value) || self.is_read_as_unsigned() && is_spelt_unsigned();
        is_compared && !is_same
    }

    /// Whether xarray reads the attribute `_FillValue` in Zarr version 3, or there is none: a dataset is closed to it if
    /// any array has one that it does not read. It reads that of truth values, integers, floating-point numbers and complex
    /// numbers, of the latter two in Base64.
    #[must_use]
    pub fn has_fill_of_xarray(&self) -> bool {
        let Some(attribute) = self.attribute(FILL_VALUE) else { return true };
        let is_float = |json: &Json| {
            json.as_str().and_then(base64::decode).is_some_and(|bytes| bytes.len() == size_of::<f64>())
        };
        match (self.dtype.kind(), &attribute.json) {
            (Kind::Bool, _) => true,
            (Kind::Int | Kind::UInt, Some(json)) => json.is_number(),
            (Kind::Float, Some(json)) => is_float(json),
            (Kind::Complex, Some(Json::Array(parts))) => parts.len() == 2 && parts.iter().all(is_float),
            // It is not written yet.
            (Kind::Int | Kind::UInt | Kind::Float, None) => {
                attribute.value.len() == 1 && float(&attribute.value).is_some()
            }
            _ => false,
        }
    }

    /// Whether the attribute `_Unsigned` makes readers read signed integers as unsigned ones.
    fn is_read_as_unsigned(&self) -> bool {
        let unsigned = self.attribute("_Unsigned").and_then(|attribute| attribute.value.as_text());
        self.dtype.kind() == Kind::Int && unsigned == Some("true")
    }

    fn is_number(&self) -> bool {
        matches!(self.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float)
    }

    /// The fill value as a number.
    fn fill_number(&self) -> Option<Value> {
        let nc_type = self.shown()?.plain()?;
        self.fill.as_ref().filter(|_| self.is_number())?.value(nc_type, &self.dtype)
    }

    fn has_default_fill(&self) -> bool {
        let nc_type = self.shown().and_then(NetcdfView::plain);
        self.fill.as_ref().zip(nc_type).is_some_and(|(fill, nc_type)| fill.is_default(nc_type, &self.dtype))
    }

    /// Whether this fill value may be a default that the user did not choose: 0, or netCDF's default of a type of one
    /// byte.
    fn has_ambiguous_fill(&self) -> bool {
        let is_zero = self.fill.as_ref().is_some_and(FillValue::is_zero);
        is_zero || self.dtype.size() == 1 && self.has_default_fill()
    }

    /// Whether the attribute is in its `.zattrs`.
    fn stores_fill_attribute(&self) -> bool {
        self.documents.zattrs.as_deref().is_some_and(|zattrs| zattrs.contains_key(FILL_VALUE))
    }

    /// Whether the writer chose the masked value, or chose that there is none.
    fn has_chosen_fill(&self) -> bool {
        match self.fill {
            None => true,
            Some(_) => self.fill_number().and_then(|number| float(&number)).is_some_and(f64::is_nan),
        }
    }
}

/// Adds the attribute `_FillValue` to the variables of a dataset of pure Zarr version 2 whose `fill_value` is masked.
pub fn mark(hierarchy: &mut Hierarchy) {
    let is_of_xarray = is_of_xarray(hierarchy);
    mark_group(&mut hierarchy.root, is_of_xarray);
}

/// Whether xarray wrote a dataset of pure Zarr version 2, as far as the fill values tell.
fn is_of_xarray(hierarchy: &Hierarchy) -> bool {
    hierarchy.format == Format::Zarr2
        && hierarchy.variables().any(|variable| variable.is_named() && variable.has_chosen_fill())
        && !hierarchy.variables().any(Variable::stores_fill_attribute)
}

fn mark_group(group: &mut Group, is_of_xarray: bool) {
    for variable in group.variables.iter_mut().filter(|variable| variable.is_named()) {
        let has = |name: &str| variable.attribute(name).is_some();
        let is_chosen = is_of_xarray || has("scale_factor") || has("add_offset");
        if has(FILL_VALUE) || variable.has_ambiguous_fill() && !is_chosen {
            continue;
        }
        let Some(number) = variable.fill_number() else { continue };
        if variable.dtype.size() == 1 || !variable.has_default_fill() {
            variable.attributes.push(Attribute::new(FILL_VALUE, number));
        }
    }
    group.groups.iter_mut().for_each(|group| mark_group(group, is_of_xarray));
}

/// Whether the `fill_value` of Zarr version 2 implies this attribute, so that the attribute is not written: it was not
/// read from the attributes either.
#[must_use]
pub fn is_implied(variable: &Variable, attribute: &Attribute) -> bool {
    attribute.name == FILL_VALUE
        && attribute.json.is_none()
        && variable.documents.zarray.is_some()
        && !variable.stores_fill_attribute()
        && variable.is_named()
        && !variable.has_ambiguous_fill()
        && variable.fill_number().is_some_and(|number| is_same_number(&number, &attribute.value))
}

/// Whether two values are the same number, whatever their types; NaN is the same as NaN.
#[must_use]
pub fn is_same_number(one: &Value, other: &Value) -> bool {
    match (one.as_integer(), other.as_integer()) {
        (Some(one), Some(other)) => one == other,
        _ => float(one)
            .zip(float(other))
            .is_some_and(|(one, other)| one == other || one.is_nan() && other.is_nan()),
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(values) => values.first().copied().map(f64::from),
        Value::Double(values) => values.first().copied(),
        other => other.as_integer().map(|integer| integer as f64),
    }
}

/// Returns the first number of `value` in this type; `None` if the type cannot hold it.
fn number_of_type(value: &Value, nc_type: NcType) -> Option<Value> {
    let integer = || {
        let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 2f64.powi(63);
        value.as_integer().or_else(|| float(value).filter(whole).map(|number| number as i128))
    };
    Some(match nc_type {
        NcType::Byte => Value::from(i8::try_from(integer()?).ok()?),
        NcType::UByte => Value::from(u8::try_from(integer()?).ok()?),
        NcType::Short => Value::from(i16::try_from(integer()?).ok()?),
        NcType::UShort => Value::from(u16::try_from(integer()?).ok()?),
        NcType::Int => Value::from(i32::try_from(integer()?).ok()?),
        NcType::UInt => Value::from(u32::try_from(integer()?).ok()?),
        NcType::Int64 => Value::from(i64::try_from(integer()?).ok()?),
        NcType::UInt64 => Value::from(u64::try_from(integer()?).ok()?),
        NcType::Float => Value::from(float(value)? as f32),
        NcType::Double => Value::from(float(value)?),
        NcType::Char | NcType::String => return None,
    })
}
