//! Converts the JSON of `.zattrs` to typed values.

use ncz_model::json::Json;
use ncz_model::{Attribute, Dtype, Kind, NcType, Value, json};

/// The type entry of an attribute in NCZarr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeType {
    /// A netCDF type.
    Netcdf(NcType),
    /// `|J0`: JSON, shown as text.
    Json,
}

impl AttributeType {
    /// Reads a type entry: a dtype, or the number of a netCDF type (4.8.0).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "|J0" {
            return Some(Self::Json);
        }
        if let Ok(code) = text.parse::<u8>() {
            return NcType::from_code(code).map(Self::Netcdf);
        }
        let dtype = Dtype::parse(text).ok()?;
        // 4.8.1 and 4.9.0 write <U1 for char; in later versions |S1 is a string of one byte, and >S1 is char.
        if dtype.kind() == Kind::Unicode && dtype.size() == 4 {
            return Some(Self::Netcdf(NcType::Char));
        }
        dtype.nc_type(true).map(Self::Netcdf)
    }
}

/// Reads one attribute. `declared` is its type entry; without one, or if the value does not have that type, the type
/// follows from the JSON. The second result is true if the value does not have the declared type.
pub(crate) fn attribute(name: &str, json: &Json, declared: Option<AttributeType>) -> (Attribute, bool) {
    let typed = declared.and_then(|declared| match declared {
        AttributeType::Json => Some(Value::text(json_text(json))),
        AttributeType::Netcdf(nc_type) => of_type(json, nc_type),
    });
    let mismatch = declared.is_some() && typed.is_none();
    let value = typed.unwrap_or_else(|| inferred(json));
    (Attribute { name: name.to_owned(), value, json: Some(json.clone()), user: None }, mismatch)
}

/// Converts JSON to this type, if the values are exact.
pub(crate) fn of_type(json: &Json, nc_type: NcType) -> Option<Value> {
    if nc_type == NcType::Char {
        return Some(Value::text(json_text(json)));
    }
    let items = match json {
        Json::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    macro_rules! integers {
        ($variant:ident) => {
            Value::$variant(items.iter().map(|item| integer(item)?.try_into().ok()).collect::<Option<_>>()?)
        };
    }
    Some(match nc_type {
        NcType::Byte => integers!(Byte),
        NcType::UByte => integers!(UByte),
        NcType::Short => integers!(Short),
        NcType::UShort => integers!(UShort),
        NcType::Int => integers!(Int),
        NcType::UInt => integers!(UInt),
        NcType::Int64 => integers!(Int64),
        NcType::UInt64 => integers!(UInt64),
        NcType::Float => Value::Float(items.iter().map(float).collect::<Option<_>>()?),
        NcType::Double => Value::Double(items.iter().map(double).collect::<Option<_>>()?),
        NcType::String => Value::String(
            items.iter().map(|item| Some(item.as_str()?.as_bytes().to_vec())).collect::<Option<_>>()?,
        ),
        NcType::Char => return None,
    })
}

/// Converts JSON without a type entry: whole numbers to the smallest of int, uint, int64, uint64, other numbers to
/// double, truth values to ubyte, a string to char, a list of strings to string; other JSON becomes char text.
pub(crate) fn inferred(json: &Json) -> Value {
    let text = || Value::text(json_text(json));
    let items = match json {
        Json::Array(items) => items.as_slice(),
        Json::Number(_) | Json::Bool(_) => std::slice::from_ref(json),
        _ => return text(),
    };
    if items.is_empty() {
        return text();
    }
    if items.iter().all(Json::is_string) {
        return of_type(json, NcType::String).unwrap_or_else(text);
    }
    if items.iter().all(Json::is_boolean) {
        return Value::UByte(items.iter().map(|item| u8::from(item.as_bool() == Some(true))).collect());
    }
    if !items.iter().all(Json::is_number) {
        return text();
    }
    let nc_type = match whole_range(items) {
        Some((low, high)) if low < 0 && high > i128::from(i64::MAX) => return text(),
        Some((low, high)) => match (low, high) {
            _ if i32::try_from(low).is_ok() && i32::try_from(high).is_ok() => NcType::Int,
            _ if low >= 0 && u32::try_from(high).is_ok() => NcType::UInt,
            // netcdf-c reads the largest int64 as uint64.
            _ if i64::try_from(low).is_ok() && (low < 0 || high < i128::from(i64::MAX)) => NcType::Int64,
            _ => NcType::UInt64,
        },
        None => NcType::Double,
    };
    of_type(json, nc_type).unwrap_or_else(text)
}

/// The text of a string, or of other JSON in netcdf-c's layout.
fn json_text(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => json::to_text_lenient(other),
    }
}

/// Returns the lowest and highest number, if all are written as whole numbers.
fn whole_range(items: &[Json]) -> Option<(i128, i128)> {
    items.iter().try_fold((i128::MAX, i128::MIN), |(low, high), item| {
        let value: i128 = item.as_number()?.as_str().parse().ok()?;
        Some((low.min(value), high.max(value)))
    })
}

fn integer(item: &Json) -> Option<i128> {
    match item {
        Json::Bool(value) => Some(i128::from(*value)),
        _ => ncz_model::integer(item),
    }
}

fn float(item: &Json) -> Option<f32> {
    match special(item)? {
        Ok(value) => Some(value as f32),
        Err(text) => text.parse::<f32>().ok().filter(|value| value.is_finite()),
    }
}

fn double(item: &Json) -> Option<f64> {
    match special(item)? {
        Ok(value) => Some(value),
        Err(text) => text.parse::<f64>().ok().filter(|value| value.is_finite()),
    }
}

/// Returns the number of a word, quoted or bare, or the text of a number.
fn special(item: &Json) -> Option<Result<f64, &str>> {
    match item {
        Json::String(word) => json::Special::from_word(word).map(|special| Ok(special.value())),
        Json::Number(number) => Some(json::special(item).map(json::Special::value).ok_or(number.as_str())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, declared: Option<&str>) -> (Value, bool) {
        let json = json::parse(text.as_bytes()).unwrap().value;
        let declared = declared.map(|declared| AttributeType::parse(declared).unwrap());
        let (attribute, mismatch) = attribute("a", &json, declared);
        (attribute.value, mismatch)
    }

    #[test]
    fn typed_values_are_read_in_their_type() {
        for (text, declared, expected) in [
            ("[0,1,2]", "<i1", Value::from(vec![0i8, 1, 2])),
            ("3", "4", Value::from(3i32)),
            ("[3]", "<i4", Value::from(3i32)),
            ("-999", "<f4", Value::from(-999f32)),
            ("\"-Infinity\"", "<f8", Value::from(f64::NEG_INFINITY)),
            ("Infinity", "<f4", Value::from(f32::INFINITY)),
            ("0.1", "<f4", Value::from(0.1f32)),
            ("18446744073709551615", "<u8", Value::from(u64::MAX)),
            ("\"abc\"", "<U1", Value::from("abc")),
            ("17", ">S1", Value::from("17")),
            ("[1,2.5,\"x\"]", ">S1", Value::from("[1,2.5,\"x\"]")),
            ("{\"a\": {\"b\": 1}}", "|J0", Value::from("{\"a\": {\"b\": 1}}")),
            ("[\"one\",\"\"]", "|S128", Value::strings(["one", ""])),
            ("\"one\"", "|S3", Value::strings(["one"])),
            ("[]", "<f8", Value::Double(vec![])),
        ] {
            assert_eq!(value(text, Some(declared)), (expected, false), "{text} {declared}");
        }
    }

    #[test]
    fn a_value_that_is_not_of_its_type_is_read_by_its_json_and_reported() {
        assert_eq!(value("300", Some("<i1")), (Value::from(300i32), true));
        assert_eq!(value("\"x\"", Some("<f4")), (Value::from("x"), true));
        assert_eq!(value("1.5", Some("<i4")), (Value::from(1.5f64), true));
    }

    #[test]
    fn json_without_a_type_entry_is_inferred() {
        for (text, expected) in [
            ("3", Value::from(3i32)),
            ("4294967295", Value::from(u32::MAX)),
            ("5000000000", Value::from(5_000_000_000i64)),
            ("-5000000000", Value::from(-5_000_000_000i64)),
            ("9223372036854775807", Value::from(i64::MAX as u64)),
            ("18446744073709551615", Value::from(u64::MAX)),
            ("[1, 5000000000]", Value::from(vec![1i64, 5_000_000_000])),
            ("[-1, 4294967295]", Value::from(vec![-1i64, 4_294_967_295])),
            ("[1, 2.5]", Value::from(vec![1.0, 2.5])),
            ("1.0", Value::from(1.0)),
            ("[true, false]", Value::from(vec![1u8, 0])),
            ("\"x\"", Value::from("x")),
            ("[\"a\", \"b\"]", Value::strings(["a", "b"])),
            ("[]", Value::from("[]")),
            ("[1, \"a\"]", Value::from("[1,\"a\"]")),
            ("null", Value::from("null")),
            ("{\"a\": [1, null]}", Value::from("{\"a\": [1,null]}")),
            ("1e400", Value::from("1e400")),
            ("18446744073709551616", Value::from("18446744073709551616")),
            ("[-1, 18446744073709551615]", Value::from("[-1,18446744073709551615]")),
        ] {
            let read = value(text, None);
            assert!(!read.1);
            assert_eq!(read.0, expected, "{text}");
        }
        let Value::Double(nan) = value("NaN", None).0 else { panic!("not a double") };
        assert!(nan[0].is_nan());
    }
}
