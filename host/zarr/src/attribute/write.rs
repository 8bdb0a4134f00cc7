//! Converts typed values to the JSON of `.zattrs` and NCZarr's type entry.

use std::borrow::Cow;

use ncz_model::json::{self, Special};
use ncz_model::json::{Json, Number};
use ncz_model::{Attribute, NcType, Value};

use super::read::{inferred, of_type};

/// The attribute with the type of its variable, which needs neither a type entry nor JSON that shows its type.
const FILL_VALUE: &str = "_FillValue";

/// The attributes whose values readers mask.
const MASKS: [&str; 2] = [FILL_VALUE, "missing_value"];

/// Returns the JSON of an attribute, and the entry of NCZarr's type map.
///
/// `nczarr` writes for a dataset that has the type map. Without the map the type must follow from the JSON, so NaN is a
/// bare word, except in `_FillValue`. Returns `None` if the text is not UTF-8, which JSON cannot hold.
pub(crate) fn attribute(attribute: &Attribute, nczarr: bool) -> Option<(Json, &'static str)> {
    let json = match kept(attribute, nczarr) {
        Some(json) => json,
        None => of_value(&widened(attribute), nczarr || attribute.name == FILL_VALUE)?,
    };
    let entry = match &attribute.value {
        // Also if it is an object or a list: netcdf-c returns its text, and refuses a dataset whose attributes have the
        // type |J0 that its documents specify for this.
        Value::Char(_) => ">S1",
        Value::Byte(_) => "<i1",
        Value::UByte(_) => "<u1",
        Value::Short(_) => "<i2",
        Value::UShort(_) => "<u2",
        Value::Int(_) => "<i4",
        Value::UInt(_) => "<u4",
        Value::Int64(_) => "<i8",
        Value::UInt64(_) => "<u8",
        Value::Float(_) => "<f4",
        Value::Double(_) => "<f8",
        Value::String(_) => "|S",
    };
    Some((json, entry))
}

/// The value with numbers of double precision, if readers compare elements with it: xarray reads a number of JSON as one
/// of double precision, and the fewest digits of a float are those of another double.
fn widened(attribute: &Attribute) -> Cow<'_, Value> {
    match &attribute.value {
        Value::Float(values) if MASKS.contains(&attribute.name.as_str()) => {
            Cow::Owned(Value::Double(values.iter().copied().map(f64::from).collect()))
        }
        value => Cow::Borrowed(value),
    }
}

/// Returns the JSON that was read, if it still reads as the value.
fn kept(attribute: &Attribute, nczarr: bool) -> Option<Json> {
    let json = attribute.json.as_ref()?;
    let value = &attribute.value;
    let means = |read: Option<Value>| read.is_some_and(|read| same(&read, value));
    let keeps = match (value, json) {
        (Value::Char(_), Json::String(_)) => means(of_type(json, NcType::Char)),
        // Text that netcdf-c turned into a number or a truth value becomes text again.
        (Value::Char(_), Json::Number(_) | Json::Bool(_) | Json::Null) if nczarr => false,
        (Value::Char(_), _) if nczarr => !has_words(json) && means(of_type(json, NcType::Char)),
        (Value::Char(_), _) => means(Some(inferred(json))),
        _ if nczarr || attribute.name == FILL_VALUE => {
            !has_words(json) && means(of_type(json, value.nc_type()))
        }
        // Without a type entry, 3 is an int; a float needs a point.
        (Value::Float(_) | Value::Double(_), _) => {
            matches!(inferred(json), Value::Double(_)) && means(of_type(json, value.nc_type()))
        }
        _ => means(of_type(json, value.nc_type())),
    };
    keeps.then(|| json.clone())
}

/// Whether it contains bare words, which strict JSON does not allow.
fn has_words(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().any(has_words),
        Json::Object(members) => members.values().any(has_words),
        single => json::special(single).is_some(),
    }
}

fn of_value(value: &Value, quoted: bool) -> Option<Json> {
    let whole = |number: String| Json::Number(Number::from_text(number));
    let items: Vec<Json> = match value {
        Value::Char(bytes) => return std::str::from_utf8(bytes).ok().map(Json::from),
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
            values.iter().map(|&value| float(f64::from(value), format!("{value:e}"), quoted)).collect()
        }
        Value::Double(values) => {
            values.iter().map(|&value| float(value, format!("{value:e}"), quoted)).collect()
        }
    };
    Some(match <[Json; 1]>::try_from(items) {
        Ok([single]) => single,
        Err(items) => Json::Array(items),
    })
}

fn float(value: f64, shortest: String, quoted: bool) -> Json {
    let special = match value {
        _ if value.is_nan() => Special::NaN,
        f64::INFINITY => Special::Infinity,
        f64::NEG_INFINITY => Special::NegativeInfinity,
        _ => return Json::Number(Number::from_text(json::float_text(&shortest))),
    };
    if quoted { Json::String(special.word().to_owned()) } else { special.bare() }
}

/// Compares bit by bit, so that NaN equals itself.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => {
            let equal = |(l, r): (&f32, &f32)| l.to_bits() == r.to_bits() || l.is_nan() && r.is_nan();
            left.len() == right.len() && left.iter().zip(right).all(equal)
        }
        (Value::Double(left), Value::Double(right)) => {
            let equal = |(l, r): (&f64, &f64)| l.to_bits() == r.to_bits() || l.is_nan() && r.is_nan();
            left.len() == right.len() && left.iter().zip(right).all(equal)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read::{AttributeType, attribute as read};
    use super::*;

    /// Writes a value and reads the text back; returns both.
    fn round_trip(value: &Value, nczarr: bool) -> (String, Value) {
        let (json, entry) = attribute(&Attribute::new("a", value.clone()), nczarr).unwrap();
        let text = if nczarr { json::to_text(&json) } else { json::to_text_lenient(&json) };
        let json = json::parse(text.as_bytes()).unwrap().value;
        let entry = if entry == "|S" { "|S128" } else { entry };
        let declared = nczarr.then(|| AttributeType::parse(entry).unwrap());
        let (attribute, mismatch) = read("a", &json, declared);
        assert!(!mismatch);
        (text, attribute.value)
    }

    #[test]
    fn text_that_looks_like_json_stays_the_same_text() {
        for text in [
            "17",
            "true",
            "nan",
            "NaN",
            "1.5",
            "[1, 2.5]",
            "[1,2.5]",
            "{\"a\": 1}",
            "{\"a\":1}",
            "[not json",
            "",
            "[NaN]",
            "\"x\"",
            "null",
        ] {
            for nczarr in [true, false] {
                assert_eq!(round_trip(&Value::from(text), nczarr).1, Value::from(text), "{text:?}");
            }
        }
    }

    #[test]
    fn an_object_that_was_read_stays_an_object() {
        let json = json::parse(b"{\"crs\": {\"epsg\": 4326}, \"ok\": true}").unwrap().value;
        let text = Value::from("{\"crs\": {\"epsg\": 4326}, \"ok\": true}");
        let old =
            Attribute { name: "a".to_owned(), value: text.clone(), json: Some(json.clone()), user: None };
        for nczarr in [true, false] {
            assert_eq!(attribute(&old, nczarr), Some((json.clone(), ">S1")));
        }
        // Text that the user gave is a string, even if it looks like JSON.
        assert!(attribute(&Attribute::new("a", text), true).unwrap().0.is_string());
    }

    #[test]
    fn text_that_netcdf_turned_into_a_number_is_written_as_text_again() {
        let json = json::parse(b"17").unwrap().value;
        let old = Attribute { name: "a".to_owned(), value: Value::from("17"), json: Some(json), user: None };
        for nczarr in [true, false] {
            assert_eq!(attribute(&old, nczarr).unwrap().0, Json::from("17"));
        }
    }

    #[test]
    fn numbers_that_were_read_keep_their_text() {
        let json = json::parse(b"[1.50,2e1]").unwrap().value;
        let old = Attribute {
            name: "a".to_owned(),
            value: Value::from(vec![1.5, 20.0]),
            json: Some(json.clone()),
            user: None,
        };
        assert_eq!(attribute(&old, true).unwrap().0, json);
        let changed = Attribute { value: Value::from(vec![1.5, 21.0]), ..old };
        assert_eq!(json::to_text(&attribute(&changed, true).unwrap().0), "[1.5,21.0]");
    }

    #[test]
    fn a_float_needs_a_point_if_it_has_no_type_entry() {
        let json = json::parse(b"-999").unwrap().value;
        let old =
            Attribute { name: "a".to_owned(), value: Value::from(-999f32), json: Some(json), user: None };
        assert_eq!(json::to_text(&attribute(&old, true).unwrap().0), "-999");
        assert_eq!(json::to_text(&attribute(&old, false).unwrap().0), "-999.0");
    }

    #[test]
    fn nan_is_quoted_in_nczarr_and_bare_in_pure_zarr() {
        assert_eq!(round_trip(&Value::from(f64::NAN), true).0, "\"NaN\"");
        assert_eq!(round_trip(&Value::from(vec![f64::NAN, f64::NEG_INFINITY]), false).0, "[NaN,-Infinity]");
    }

    #[test]
    fn text_that_is_not_utf8_cannot_be_written() {
        assert!(attribute(&Attribute::new("a", Value::Char(vec![0xff])), true).is_none());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        use prop::collection::vec;
        prop_oneof![
            vec(any::<i8>(), 0..4).prop_map(Value::from),
            vec(any::<u8>(), 0..4).prop_map(Value::from),
            vec(any::<i16>(), 0..4).prop_map(Value::from),
            vec(any::<u16>(), 0..4).prop_map(Value::from),
            vec(any::<i32>(), 0..4).prop_map(Value::from),
            vec(any::<u32>(), 0..4).prop_map(Value::from),
            vec(any::<i64>(), 0..4).prop_map(Value::from),
            vec(any::<u64>(), 0..4).prop_map(Value::from),
            vec(any::<u32>().prop_map(f32::from_bits), 0..4).prop_map(Value::from),
            vec(any::<u64>().prop_map(f64::from_bits), 0..4).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            vec(any::<String>(), 0..4).prop_map(Value::strings),
        ]
    }

    proptest! {
        #[test]
        fn every_value_reads_back_in_its_type(value in any_value()) {
            let (_, back) = round_trip(&value, true);
            prop_assert!(same(&back, &value), "{back:?}");
        }

        #[test]
        fn the_text_is_strict_json_with_equal_numbers(
            values in prop::collection::vec(any::<u64>().prop_map(f64::from_bits), 2..6),
        ) {
            let (json, _) = attribute(&Attribute::new("a", values.clone()), true).unwrap();
            let read: Json = json::to_text(&json).parse().unwrap();
            for (read, value) in read.as_array().unwrap().iter().zip(values) {
                if value.is_finite() {
                    prop_assert_eq!(read.as_f64().unwrap().to_bits(), value.to_bits());
                } else {
                    prop_assert!(read.is_string());
                }
            }
        }
    }
}
