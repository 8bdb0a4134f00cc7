//! Converts JSON to the bytes of one element, and back.

use crate::json::{Json, Number};

use super::{FillText, base64};
use crate::dtype::{ByteOrder, Dtype, Kind, NcType};
use crate::json::{self, Special};
use crate::value::Value;

/// Converts a fill value to an element in the byte order of the dtype; `None` if it does not fit.
pub(super) fn element(json: &Json, dtype: &Dtype, text: FillText) -> Option<Vec<u8>> {
    let size = dtype.size();
    // netcdf-c 4.8 writes an array of one; a complex number is an array of two.
    let json = match json.as_array().map(Vec::as_slice) {
        Some([only]) => only,
        _ => json,
    };
    match dtype.kind() {
        Kind::Bool => match json {
            Json::Bool(value) => Some(vec![u8::from(*value)]),
            Json::Number(_) => {
                integer(json).filter(|value| (0..=1).contains(value)).map(|value| vec![value as u8])
            }
            _ => None,
        },
        Kind::Int | Kind::UInt => {
            let value = match json {
                Json::Bool(value) => i128::from(*value),
                _ => integer(json)?,
            };
            integer_bytes(value, dtype.kind() == Kind::Int, size, dtype.order())
        }
        Kind::Float => float_bytes(json, size, dtype.order()),
        Kind::Complex => {
            let (real, imaginary) = match json.as_array().map(Vec::as_slice) {
                Some([real, imaginary]) => (real.clone(), imaginary.clone()),
                _ => (json.clone(), Json::from(0)),
            };
            let mut bytes = float_bytes(&real, size / 2, dtype.order())?;
            bytes.extend(float_bytes(&imaginary, size / 2, dtype.order())?);
            Some(bytes)
        }
        Kind::DateTime | Kind::TimeDelta => {
            let value = match json {
                Json::String(word) if word == "NaT" => i128::from(i64::MIN),
                _ => integer(json)?,
            };
            integer_bytes(value, true, 8, dtype.order())
        }
        Kind::Bytes => padded(text_bytes(json, size, text)?, size),
        Kind::Unicode => unicode(json, size, dtype.order()),
        Kind::VlenText => text_bytes(json, 0, FillText::Plain),
        Kind::VlenBytes => text_bytes(json, usize::MAX, FillText::Base64),
        Kind::Other => match json {
            Json::String(encoded) => padded(base64::decode(encoded)?, size).filter(|_| size > 0),
            _ => (integer(json)? == 0).then(|| vec![0; size]),
        },
    }
}

/// Converts an element with a netCDF type to the JSON of `.zarray`.
pub(super) fn to_json(bytes: &[u8], nc_type: NcType, dtype: &Dtype, text: FillText) -> Option<Json> {
    Some(match Value::from_stored_bytes(nc_type, dtype, bytes)? {
        Value::Float(values) => float_json(f64::from(*values.first()?), &format!("{:e}", values.first()?)),
        Value::Double(values) => float_json(*values.first()?, &format!("{:e}", values.first()?)),
        Value::Char(letters) => text_json(&letters, text)?,
        Value::String(strings) if dtype.is_variable_length() => {
            Json::from(std::str::from_utf8(strings.first()?).ok()?)
        }
        Value::String(strings) => text_json(strings.first()?, text)?,
        integer => {
            let value = integer.as_integer()?;
            Json::Number(Number::from_text(value.to_string()))
        }
    })
}

pub(super) fn float_json(value: f64, shortest: &str) -> Json {
    let special = match value {
        _ if value.is_nan() => Special::NaN,
        f64::INFINITY => Special::Infinity,
        f64::NEG_INFINITY => Special::NegativeInfinity,
        _ => return Json::Number(Number::from_text(json::float_text(shortest))),
    };
    Json::String(special.word().to_owned())
}

pub(super) fn text_json(bytes: &[u8], text: FillText) -> Option<Json> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    let bytes = bytes.get(..end)?;
    match text {
        FillText::Base64 => Some(Json::String(base64::encode(bytes))),
        FillText::Plain => std::str::from_utf8(bytes).ok().map(Json::from),
    }
}

/// Returns the exact integer of a JSON number; `None` for fractions and numbers out of range.
#[must_use]
pub fn integer(json: &Json) -> Option<i128> {
    let text = json.as_number()?.as_str();
    if let Ok(value) = text.parse::<i128>() {
        return Some(value);
    }
    // "0.0" and "1e3" are integers too, as long as a double holds them exactly.
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i128)
}

fn integer_bytes(value: i128, signed: bool, size: usize, order: ByteOrder) -> Option<Vec<u8>> {
    let bits = u32::try_from(size).ok()?.checked_mul(8)?;
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if !(low..=high).contains(&value) {
        return None;
    }
    let mut bytes = value.to_le_bytes().get(..size)?.to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

pub(super) fn float_bytes(json: &Json, size: usize, order: ByteOrder) -> Option<Vec<u8>> {
    let special = match json {
        Json::String(word) => Some(Special::from_word(word)?),
        _ => json::special(json),
    };
    let number = json.as_number().map(Number::as_str);
    let mut bytes = match size {
        2 => half_bits(float(number, special)?)?.to_le_bytes().to_vec(),
        4 => match special {
            Some(special) => (special.value() as f32).to_le_bytes().to_vec(),
            None => number?.parse::<f32>().ok().filter(|value| value.is_finite())?.to_le_bytes().to_vec(),
        },
        8 => float(number, special)?.to_le_bytes().to_vec(),
        // Extended precision differs between machines; only zero is the same everywhere.
        _ => (float(number, special)? == 0.0).then(|| vec![0; size])?,
    };
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

fn float(number: Option<&str>, special: Option<Special>) -> Option<f64> {
    match special {
        Some(special) => Some(special.value()),
        None => number?.parse::<f64>().ok().filter(|value| value.is_finite()),
    }
}

/// The bits of the nearest half-precision number, ties to even; `None` for finite numbers out of its range.
pub fn half_bits(value: f64) -> Option<u16> {
    let sign = if value.is_sign_negative() { 0x8000u16 } else { 0 };
    if value.is_nan() {
        return Some(sign | 0x7e00);
    }
    if value.is_infinite() {
        return Some(sign | 0x7c00);
    }
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return None;
    }
    // Multiples of 2^-24 below 2^-14, of 2^(exponent - 10) above: round to that grid.
    let exponent = if magnitude < 2f64.powi(-14) { -14 } else { magnitude.log2().floor() as i32 };
    let exponent = if 2f64.powi(exponent) > magnitude && exponent > -14 { exponent - 1 } else { exponent };
    let steps = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    let bits =
        if magnitude < 2f64.powi(-14) { steps } else { u16::try_from(exponent + 14).ok()? * 1024 + steps };
    Some(sign | bits)
}

fn text_bytes(json: &Json, size: usize, text: FillText) -> Option<Vec<u8>> {
    match (json, text) {
        (Json::String(string), FillText::Plain) => Some(string.clone().into_bytes()),
        (Json::String(string), FillText::Base64) => {
            match base64::decode(string).filter(|bytes| bytes.len() <= size) {
                Some(bytes) => Some(bytes),
                None => Some(string.clone().into_bytes()),
            }
        }
        // The default of zarr-python 2 for every dtype.
        _ => (integer(json)? == 0).then(Vec::new),
    }
}

fn padded(mut bytes: Vec<u8>, size: usize) -> Option<Vec<u8>> {
    if bytes.len() > size {
        return None;
    }
    bytes.resize(size, 0);
    Some(bytes)
}

fn unicode(json: &Json, size: usize, order: ByteOrder) -> Option<Vec<u8>> {
    let text = match json {
        Json::String(text) => text.as_str(),
        _ if integer(json)? == 0 => "",
        _ => return None,
    };
    let bytes = text
        .chars()
        .flat_map(|letter| match order {
            ByteOrder::Big => u32::from(letter).to_be_bytes(),
            _ => u32::from(letter).to_le_bytes(),
        })
        .collect();
    padded(bytes, size)
}

#[cfg(test)]
mod tests {
    use crate::json::json;

    use super::*;

    fn bytes(json: Json, dtype: &str) -> Option<Vec<u8>> {
        element(&json, &Dtype::parse(dtype).unwrap(), FillText::Plain)
    }

    #[test]
    fn every_type_has_its_fill_values() {
        let nan = |json: Json, dtype: &str| bytes(json, dtype).unwrap();
        assert!(f64::from_le_bytes(nan(json!("NaN"), "<f8").try_into().unwrap()).is_nan());
        assert_eq!(nan(json!("-Infinity"), "<f2"), 0xfc00u16.to_le_bytes());
        assert_eq!(nan(json!("NaN"), "<f2"), 0x7e00u16.to_le_bytes());
        let complex = nan(json!(["NaN", "Infinity"]), "<c8");
        assert!(f32::from_le_bytes(complex[..4].try_into().unwrap()).is_nan());
        assert_eq!(complex[4..], f32::INFINITY.to_le_bytes());
        assert_eq!(bytes(json!("é"), "<U2"), Some([0xe9u32, 0].map(u32::to_le_bytes).concat()));
        assert_eq!(bytes(json!(0), "<U2"), Some(vec![0; 8]));
        assert_eq!(bytes(json!("AAEC"), "|V4"), Some(vec![0, 1, 2, 0]));
        let any = |json: Json, dtype: Dtype| element(&json, &dtype, FillText::Base64);
        assert_eq!(any(json!("a\u{1f600}"), Dtype::vlen_text()), Some("a\u{1f600}".into()));
        assert_eq!(any(json!(0), Dtype::vlen_text()), Some(vec![]));
        assert_eq!(any(json!("AP8="), Dtype::vlen_bytes()), Some(vec![0, 255]));
        assert_eq!(any(json!(""), Dtype::vlen_bytes()), Some(vec![]));
        for dtype in [Dtype::vlen_text(), Dtype::vlen_bytes()] {
            assert_eq!(any(json!(1), dtype), None);
        }
    }

    #[test]
    fn fill_values_become_the_element_in_the_stored_order() {
        assert_eq!(bytes(json!(258), ">u2"), Some(vec![1, 2]));
        assert_eq!(bytes(json!(-2), "<i4"), Some(vec![254, 255, 255, 255]));
        assert_eq!(bytes(json!([-999]), "<f4"), Some((-999f32).to_le_bytes().to_vec()));
        assert_eq!(bytes(json!(0.0), "<i4"), Some(vec![0; 4]));
        assert_eq!(bytes(json!(true), "|b1"), Some(vec![1]));
        assert_eq!(bytes(json!([0.0, 1.0]), "<c8"), Some([0f32.to_le_bytes(), 1f32.to_le_bytes()].concat()));
        assert_eq!(bytes(json!(i64::MIN), "<M8[ns]"), Some(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(bytes(json!("NaT"), ">m8[s]"), Some(i64::MIN.to_be_bytes().to_vec()));
        assert_eq!(bytes(json!("ab"), "|S3"), Some(b"ab\0".to_vec()));
        assert_eq!(bytes(json!(0), "|S3"), Some(vec![0; 3]));
        assert_eq!(bytes(json!("a"), ">U2"), Some(vec![0, 0, 0, b'a', 0, 0, 0, 0]));
    }

    #[test]
    fn values_of_another_kind_or_out_of_range_do_not_fit() {
        for (json, dtype) in [
            (json!("x"), "<i4"),
            (json!("0"), "<f4"),
            (json!(256), "|u1"),
            (json!(-1), "<u4"),
            (json!(1.5), "<i4"),
            (json!([1, 2]), "<i4"),
            (json!({}), "<f8"),
            (json!("abcd"), "|S3"),
            (json!(1), "|S3"),
            (json!(2), "|b1"),
        ] {
            assert_eq!(bytes(json.clone(), dtype), None, "{json} {dtype}");
        }
        let huge = json::parse(b"1e400").unwrap().value;
        assert_eq!(bytes(huge.clone(), "<f8"), None);
        assert_eq!(bytes(huge, "<i8"), None);
    }

    #[test]
    fn half_precision_rounds_to_the_nearest_even() {
        for (value, bits) in [
            (0.0, 0x0000),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (0.1, 0x2e66),
            (5.960464477539063e-8, 0x0001),
            (6.097555160522461e-5, 0x03ff),
            (6.103515625e-5, 0x0400),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (f64::INFINITY, 0x7c00),
        ] {
            assert_eq!(half_bits(value), Some(bits), "{value}");
        }
        assert_eq!(half_bits(65520.0), None);
    }

    #[test]
    fn text_in_base64_is_decoded_and_other_text_is_kept() {
        let dtype = Dtype::parse("|S4").unwrap();
        assert_eq!(element(&json!("Zm9v"), &dtype, FillText::Base64), Some(b"foo\0".to_vec()));
        assert_eq!(element(&json!("a b"), &dtype, FillText::Base64), Some(b"a b\0".to_vec()));
    }
}
