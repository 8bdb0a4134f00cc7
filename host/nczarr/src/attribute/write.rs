//! From typed values to the JSON of `.zattrs` and NCZarr's type entry.

use serde_json::{Number, Value as Json};

use super::Attribute;
use super::read::{inferred, of_type};
use crate::json::{self, Special};
use crate::value::Value;

/// The JSON of an attribute, and the entry of NCZarr's type map.
///
/// `nczarr` writes for a dataset that has the type map. Without it the type must follow from the JSON, so NaN is a
/// bare word there. `None`: the text is not UTF-8, which JSON cannot hold.
pub(crate) fn attribute(attribute: &Attribute, nczarr: bool) -> Option<(Json, &'static str)> {
    let json = match kept(attribute, nczarr) {
        Some(json) => json,
        None => of_value(&attribute.value, nczarr)?,
    };
    let entry = match (&attribute.value, &json) {
        (Value::Char(_), Json::String(_)) => ">S1",
        (Value::Char(_), _) => "|J0",
        (Value::Byte(_), _) => "|i1",
        (Value::UByte(_), _) => "|u1",
        (Value::Short(_), _) => "<i2",
        (Value::UShort(_), _) => "<u2",
        (Value::Int(_), _) => "<i4",
        (Value::UInt(_), _) => "<u4",
        (Value::Int64(_), _) => "<i8",
        (Value::UInt64(_), _) => "<u8",
        (Value::Float(_), _) => "<f4",
        (Value::Double(_), _) => "<f8",
        (Value::String(_), _) => "|S",
    };
    Some((json, entry))
}

/// The JSON that was read, if it still means the value.
fn kept(attribute: &Attribute, nczarr: bool) -> Option<Json> {
    let json = attribute.json.as_ref()?;
    let same = match (&attribute.value, json) {
        // Text that netcdf-c turned into a number or a truth value becomes text again.
        (Value::Char(_), Json::Number(_) | Json::Bool(_) | Json::Null) => {
            !nczarr && same(&inferred(json), &attribute.value)
        }
        (Value::Char(_), _) => {
            of_type(json, attribute.value.nc_type()).is_some_and(|value| same(&value, &attribute.value))
        }
        _ if has_words(json, nczarr) => false,
        (value, _) if nczarr => of_type(json, value.nc_type()).is_some_and(|read| same(&read, value)),
        (value, _) => of_type(json, value.nc_type()).is_some_and(|read| same(&read, value)),
    };
    same.then(|| json.clone())
}

/// Whether NaN or infinity stand in it in the way that the other format has them.
fn has_words(json: &Json, nczarr: bool) -> bool {
    let wrong = |item: &Json| if nczarr { json::special(item).is_some() } else { false };
    match json {
        Json::Array(items) => items.iter().any(wrong),
        single => wrong(single),
    }
}

fn of_value(value: &Value, nczarr: bool) -> Option<Json> {
    let whole = |number: String| Json::Number(Number::from_string_unchecked(number));
    let items: Vec<Json> = match value {
        Value::Char(bytes) => return text(std::str::from_utf8(bytes).ok()?, nczarr),
        Value::String(strings) => {
            let texts: Option<Vec<Json>> =
                strings.iter().map(|bytes| std::str::from_utf8(bytes).ok().map(Json::from)).collect();
            return texts.map(Json::Array);
        }
        Value::Byte(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::UByte(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::Short(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::UShort(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::Int(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::UInt(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::Int64(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::UInt64(values) => values.iter().map(|value| whole(value.to_string())).collect(),
        Value::Float(values) => {
            values.iter().map(|&value| float(f64::from(value), format!("{value:e}"), nczarr)).collect()
        }
        Value::Double(values) => {
            values.iter().map(|&value| float(value, format!("{value:e}"), nczarr)).collect()
        }
    };
    Some(match <[Json; 1]>::try_from(items) {
        Ok([single]) => single,
        Err(items) => Json::Array(items),
    })
}

/// Text is a JSON string. Only an object or list that NCZarr would give back to the byte is written as such.
fn text(text: &str, nczarr: bool) -> Option<Json> {
    if nczarr && text.starts_with(['{', '[']) {
        if let Ok(parsed) = json::parse(text.as_bytes()) {
            if !parsed.bare_words && parsed.duplicates.is_empty() && json::to_text(&parsed.value) == text {
                return Some(parsed.value);
            }
        }
    }
    Some(Json::String(text.to_owned()))
}

fn float(value: f64, shortest: String, nczarr: bool) -> Json {
    let special = match value {
        _ if value.is_nan() => Special::NaN,
        f64::INFINITY => Special::Infinity,
        f64::NEG_INFINITY => Special::NegativeInfinity,
        _ => return Json::Number(Number::from_string_unchecked(json::float_text(&shortest))),
    };
    if nczarr { Json::String(special.word().to_owned()) } else { special.bare() }
}

/// Equality to the bit, so that NaN equals itself.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(l, r)| l.to_bits() == r.to_bits() || l.is_nan() && r.is_nan())
        }
        (Value::Double(left), Value::Double(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(l, r)| l.to_bits() == r.to_bits() || l.is_nan() && r.is_nan())
        }
        _ => left == right,
    }
}
