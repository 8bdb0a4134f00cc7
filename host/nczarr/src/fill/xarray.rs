//! `_FillValue` beside an array of Zarr version 3, as xarray spells it.
//!
//! In version 2 xarray takes the array's `fill_value` for missing values, in version 3 the attribute `_FillValue`, and
//! a floating-point one only as the Base64 of a little-endian double (xarray 2026.9, `FillValueCoder`).

use super::base64;
use crate::dtype::NcType;
use crate::value::Value;

/// The attribute for a fill value; `None` for text, which has no such attribute here.
#[must_use]
pub fn xarray_fill(value: &Value) -> Option<Value> {
    let encoded = |value: f64| Value::text(base64::encode(&value.to_le_bytes()));
    match value {
        Value::Char(_) | Value::String(_) => None,
        Value::Float(values) => values.first().map(|value| encoded(f64::from(*value))),
        Value::Double(values) => values.first().map(|value| encoded(*value)),
        integers => Some(integers.clone()),
    }
}

/// The floating-point fill value that such an attribute means; `None` if it is none.
#[must_use]
pub fn from_xarray_fill(attribute: &Value, nc_type: NcType) -> Option<Value> {
    let bytes = base64::decode(attribute.as_text()?)?;
    let value = f64::from_le_bytes(bytes.try_into().ok()?);
    match nc_type {
        NcType::Float => Some(Value::from(value as f32)),
        NcType::Double => Some(Value::from(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_those_of_xarray() {
        // base64.standard_b64encode(struct.pack("<d", -999.0))
        assert_eq!(xarray_fill(&Value::from(-999.0f32)), Some(Value::text("AAAAAAA4j8A=")));
        assert_eq!(xarray_fill(&Value::from(7i16)), Some(Value::from(7i16)));
        assert_eq!(xarray_fill(&Value::strings(["x"])), None);
        for value in [0.1, f64::INFINITY, -0.0] {
            let text = xarray_fill(&Value::from(value)).unwrap();
            assert_eq!(from_xarray_fill(&text, NcType::Double), Some(Value::from(value)));
        }
        assert_eq!(from_xarray_fill(&Value::text("no"), NcType::Double), None);
        assert_eq!(from_xarray_fill(&Value::from(1.0), NcType::Double), None);
    }
}
