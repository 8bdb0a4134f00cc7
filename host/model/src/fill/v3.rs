//! Fill values of Zarr v3 (Zarr v3 core, "Fill value"; zarr-python for its extensions).

use crate::json::{Json, Number, json};

use super::parse::{element, float_bytes, float_json};
use super::{FillText, FillValue, base64};
use crate::dtype::{ByteOrder, Dtype, Kind};
use crate::error::VariableError;
use crate::json::{self, Special};

impl FillValue {
    /// Reads the `fill_value` of a `zarr.json`.
    ///
    /// # Errors
    /// [`VariableError::Fill`] if the value has another kind, or is out of the type's range.
    pub fn from_v3(json: &Json, dtype: &Dtype) -> Result<Self, VariableError> {
        let error = || VariableError::Fill { text: json::shortened(json), dtype: dtype.text().to_owned() };
        let bytes = bytes_of(json, dtype).ok_or_else(error)?;
        let json = spelled(&bytes, dtype, Spelling::V2).ok_or_else(error)?;
        Ok(Self { bytes, json, row: None })
    }

    /// The value as `zarr.json` writes it; `None` for types that Zarr v3 lacks.
    #[must_use]
    pub fn v3_json(&self, dtype: &Dtype) -> Option<Json> {
        spelled(&self.bytes, dtype, Spelling::V3)
    }
}

/// Returns the `fill_value` of arrays without a fill value, as which they read, because version 3 requires one.
#[must_use]
pub fn no_fill_v3(dtype: &Dtype) -> Option<Json> {
    spelled(&dtype.no_fill(), dtype, Spelling::V3)
}

#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    V2,
    V3,
}

fn bytes_of(json: &Json, dtype: &Dtype) -> Option<Vec<u8>> {
    let (size, order) = (dtype.size(), dtype.order());
    match dtype.kind() {
        Kind::Bool => json.as_bool().map(|value| vec![u8::from(value)]),
        Kind::Int | Kind::UInt if json.is_number() => element(json, dtype, FillText::Plain),
        Kind::Float => float(json, size, order),
        Kind::Complex => match json.as_array()?.as_slice() {
            [real, imaginary] => {
                let mut bytes = float(real, size / 2, order)?;
                bytes.extend(float(imaginary, size / 2, order)?);
                Some(bytes)
            }
            _ => None,
        },
        Kind::DateTime | Kind::TimeDelta | Kind::Unicode => element(json, dtype, FillText::Plain),
        Kind::Bytes => {
            let mut bytes = opaque(json)?;
            (bytes.len() <= size).then(|| {
                bytes.resize(size, 0);
                bytes
            })
        }
        Kind::VlenText => json.as_str().map(|text| text.as_bytes().to_vec()),
        Kind::VlenBytes => opaque(json),
        Kind::Other => opaque(json).filter(|bytes| bytes.len() == size),
        Kind::Int | Kind::UInt => None,
    }
}

/// A number, a word, or the bits of the number as `0x7fc00000`.
fn float(json: &Json, size: usize, order: ByteOrder) -> Option<Vec<u8>> {
    let Some(digits) = json.as_str().and_then(|text| text.strip_prefix("0x")) else {
        return float_bytes(json, size, order);
    };
    if digits.len() != 2 * size || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let bits = u64::from_str_radix(digits, 16).ok()?;
    let mut bytes = bits.to_le_bytes().get(..size)?.to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

/// Base64, or a list of the bytes.
fn opaque(json: &Json) -> Option<Vec<u8>> {
    match json {
        Json::String(text) => base64::decode(text),
        Json::Array(items) => {
            items.iter().map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
        }
        _ => None,
    }
}

fn spelled(bytes: &[u8], dtype: &Dtype, spelling: Spelling) -> Option<Json> {
    let order = dtype.order();
    let integer = |signed| {
        let value = bits(bytes, order)?;
        let unused = 128 - 8 * u32::try_from(bytes.len()).ok()?;
        let signed_value = (value << unused).cast_signed() >> unused;
        let text = if signed { signed_value.to_string() } else { value.to_string() };
        Some(Json::Number(Number::from_text(text)))
    };
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    match dtype.kind() {
        Kind::Bool => Some(Json::Bool(bytes.first()? != &0)),
        Kind::Int | Kind::DateTime | Kind::TimeDelta => integer(true),
        Kind::UInt => integer(false),
        Kind::Float => spelled_float(bytes, order, spelling),
        Kind::Complex => {
            let (real, imaginary) = bytes.split_at_checked(bytes.len() / 2)?;
            Some(json!([spelled_float(real, order, spelling)?, spelled_float(imaginary, order, spelling)?]))
        }
        Kind::Bytes => Some(json!(base64::encode(bytes.get(..end)?))),
        Kind::Unicode => {
            let letters = bytes
                .chunks_exact(4)
                .map(|letter| u32::try_from(bits(letter, order)?).ok().and_then(char::from_u32));
            let text: String = letters.collect::<Option<_>>()?;
            Some(json!(text.trim_end_matches('\0')))
        }
        Kind::VlenText => std::str::from_utf8(bytes).ok().map(Json::from),
        // The core specification defines a list for `r<bits>`, which tensorstore refuses.
        Kind::VlenBytes | Kind::Other => Some(json!(base64::encode(bytes))),
    }
}

fn bits(bytes: &[u8], order: ByteOrder) -> Option<u128> {
    let fold = |bits: u128, byte: &u8| bits << 8 | u128::from(*byte);
    if bytes.len() > 16 || bytes.is_empty() {
        return None;
    }
    Some(match order {
        ByteOrder::Big => bytes.iter().fold(0, fold),
        _ => bytes.iter().rev().fold(0, fold),
    })
}

/// Returns digits that give the value in a reader that reads a double first, as zarr-python and tensorstore do. A NaN
/// other than the usual one keeps its bits in version 3.
fn spelled_float(bytes: &[u8], order: ByteOrder, spelling: Spelling) -> Option<Json> {
    let bits = u64::try_from(bits(bytes, order)?).ok()?;
    let (value, usual) = match bytes.len() {
        2 => (half(u16::try_from(bits).ok()?), 0x7e00),
        4 => (f64::from(f32::from_bits(u32::try_from(bits).ok()?)), 0x7fc0_0000),
        8 => (f64::from_bits(bits), 0x7ff8 << 48),
        _ => return None,
    };
    if value.is_nan() && bits != usual && spelling == Spelling::V3 {
        return Some(json!(format!("0x{bits:0width$x}", width = 2 * bytes.len())));
    }
    if value.is_nan() {
        return Some(json!(Special::NaN.word()));
    }
    let mut shortest = format!("{value:e}");
    if bytes.len() == 4 {
        let short = format!("{:e}", value as f32);
        if short.parse::<f64>().is_ok_and(|read| (read as f32).to_bits() == (value as f32).to_bits()) {
            shortest = short;
        }
    }
    Some(float_json(value, &shortest))
}

/// The value of the bits of a half-precision number.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &Json, dtype: &str) -> Option<FillValue> {
        FillValue::from_v3(json, &Dtype::parse(dtype).unwrap()).ok()
    }

    #[test]
    fn fill_values_of_version_3_are_read_and_written_as_in_zarr_python() {
        for (json, dtype, bytes) in [
            (json!(true), "|b1", vec![1]),
            (json!(-2), ">i2", vec![255, 254]),
            (json!(u64::MAX), "<u8", vec![255; 8]),
            (json!("NaN"), "<f4", vec![0, 0, 0xc0, 0x7f]),
            (json!("0x7fc00001"), "<f4", vec![1, 0, 0xc0, 0x7f]),
            (json!("0x7fc00001"), ">f4", vec![0x7f, 0xc0, 0, 1]),
            (json!("-Infinity"), "<f2", vec![0, 0xfc]),
            (json!(["NaN", 1.0]), "<c8", vec![0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3f]),
            (json!(i64::MIN), "<M8[ns]", i64::MIN.to_le_bytes().to_vec()),
            (json!("YWL/"), "|S4", b"ab\xff\0".to_vec()),
            (json!("\u{e9}"), "<U2", vec![0xe9, 0, 0, 0, 0, 0, 0, 0]),
            (json!("YQBi"), "|V3", b"a\0b".to_vec()),
        ] {
            let fill = read(&json, dtype).unwrap_or_else(|| panic!("{json} {dtype}"));
            assert_eq!(fill.bytes(), bytes, "{json} {dtype}");
            assert_eq!(fill.v3_json(&Dtype::parse(dtype).unwrap()), Some(json));
        }
        assert_eq!(read(&json!([97, 0, 98]), "|V3").unwrap().bytes(), b"a\0b");
        let half = read(&json!(0.0999755859375), "<f2").unwrap();
        assert_eq!(half.bytes(), [0x66, 0x2e]);
        assert_eq!(half.json(), &json!(0.0999755859375));
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        for (json, dtype) in [
            (json!(1), "|b1"),
            (json!(true), "<i4"),
            (json!(null), "<i4"),
            (json!("1"), "<i4"),
            (json!("0x7fc0"), "<f4"),
            (json!("0x+fc00000"), "<f4"),
            (json!(1.0), "<c8"),
            (json!([1.0]), "<c8"),
            (json!("no base64"), "|S4"),
            (json!([1, 2]), "|V3"),
            (json!([1, 2, 256]), "|V3"),
            (json!("YWJjZGU="), "|S4"),
        ] {
            assert!(read(&json, dtype).is_none(), "{json} {dtype}");
        }
    }

    proptest! {
        #[test]
        fn floats_keep_every_bit(bits in any::<u64>()) {
            for (dtype, size) in [("<f2", 2), (">f4", 4), ("<f8", 8)] {
                let mut bytes = bits.to_le_bytes()[..size].to_vec();
                if dtype.starts_with('>') {
                    bytes.reverse();
                }
                let parsed = Dtype::parse(dtype).unwrap();
                let json = spelled(&bytes, &parsed, Spelling::V3).unwrap();
                let text = json::to_text(&json);
                let back = json::parse(text.as_bytes()).unwrap().value;
                prop_assert_eq!(bytes_of(&back, &parsed).unwrap(), bytes, "{}", text);
            }
        }

        #[test]
        fn integers_keep_every_bit(bits in any::<u64>()) {
            for (dtype, size) in [("|i1", 1), ("|u1", 1), (">u2", 2), ("<i4", 4), ("<i8", 8), (">u8", 8)] {
                let bytes = bits.to_le_bytes()[..size].to_vec();
                let parsed = Dtype::parse(dtype).unwrap();
                let json = spelled(&bytes, &parsed, Spelling::V3).unwrap();
                prop_assert_eq!(bytes_of(&json, &parsed).unwrap(), bytes);
            }
        }
    }
}
