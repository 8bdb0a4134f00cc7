//! Data types of Zarr v3: its core types, and the extensions that zarr-python writes.

use ncz_model::json::{Json, json};
use ncz_model::{ByteOrder, Dtype, DtypeError, Kind, json};

use super::extension::Extension;

/// The core types, with the letter and size of the same type in version 2.
const CORE: [(&str, &str); 14] = [
    ("bool", "b1"),
    ("int8", "i1"),
    ("int16", "i2"),
    ("int32", "i4"),
    ("int64", "i8"),
    ("uint8", "u1"),
    ("uint16", "u2"),
    ("uint32", "u4"),
    ("uint64", "u8"),
    ("float16", "f2"),
    ("float32", "f4"),
    ("float64", "f8"),
    ("complex64", "c8"),
    ("complex128", "c16"),
];

/// The units of dates and durations in numpy, which the extensions use.
const UNITS: [&str; 15] =
    ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "\u{3bc}s", "ns", "ps", "fs", "as"];

/// Reads a `data_type`; `order` is the byte order of the codec `bytes`. The text of the result is that of version 2.
///
/// # Errors
/// [`DtypeError::Unknown`], and [`DtypeError::NoByteOrder`] if the type requires one.
pub(crate) fn parse(data_type: &Json, order: ByteOrder) -> Result<Dtype, DtypeError> {
    let unknown = |reason| DtypeError::Unknown { text: json::shortened(data_type), reason };
    let extension = Extension::parse(data_type).map_err(unknown)?;
    match extension.name {
        "string" => return extension.only(&[]).map(|()| Dtype::vlen_text()).map_err(unknown),
        "variable_length_bytes" | "bytes" => {
            return extension.only(&[]).map(|()| Dtype::vlen_bytes()).map_err(unknown);
        }
        _ => {}
    }
    let text = text_of(extension).map_err(unknown)?;
    let prefix = match order {
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
        ByteOrder::None => '|',
    };
    match Dtype::parse(&format!("{prefix}{text}"))? {
        unordered if unordered.order() == ByteOrder::None => Dtype::parse(&format!("|{text}")),
        ordered => Ok(ordered),
    }
}

/// Returns the `data_type` of these elements; `None` if Zarr v3 has none for them. Raw bytes get the name that
/// zarr-python reads, not the core specification's `r<bits>`, which it does not read.
pub(crate) fn to_json(dtype: &Dtype) -> Option<Json> {
    let bytes = |name: &str| Some(json!({"name": name, "configuration": {"length_bytes": dtype.size()}}));
    match dtype.kind() {
        Kind::VlenText => Some(json!("string")),
        Kind::VlenBytes => Some(json!("variable_length_bytes")),
        Kind::DateTime => dated(dtype, "numpy.datetime64"),
        Kind::TimeDelta => dated(dtype, "numpy.timedelta64"),
        Kind::Bytes if dtype.size() > 0 => bytes("null_terminated_bytes"),
        Kind::Unicode if dtype.size() > 0 => bytes("fixed_length_utf32"),
        Kind::Other if dtype.size() > 0 && letter_and_size(dtype).starts_with('V') => bytes("raw_bytes"),
        _ => {
            let text = letter_and_size(dtype);
            let text = if text == "?" { "b1" } else { text };
            CORE.iter().find(|(_, letter)| *letter == text).map(|(name, _)| json!(name))
        }
    }
}

fn letter_and_size(dtype: &Dtype) -> &str {
    dtype.text().trim_start_matches(['<', '>', '|'])
}

fn dated(dtype: &Dtype, name: &str) -> Option<Json> {
    let unit = letter_and_size(dtype).split_once('[').map_or("generic", |(_, unit)| unit);
    let unit = unit.trim_end_matches(']');
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let (factor, unit) = unit.split_at(digits);
    let factor: u32 = if factor.is_empty() { 1 } else { factor.parse().ok()? };
    let known = UNITS.contains(&unit) && (1..=MOST_UNITS).contains(&u64::from(factor));
    known.then(|| json!({"name": name, "configuration": {"unit": unit, "scale_factor": factor}}))
}

/// numpy's limit of the number before a unit.
const MOST_UNITS: u64 = i32::MAX as u64;

/// Returns letter, size and unit as in version 2, without the byte order.
fn text_of(extension: Extension<'_>) -> Result<String, String> {
    let name = extension.name;
    if let Some((_, text)) = CORE.iter().find(|(core, _)| *core == name) {
        return extension.only(&[]).map(|()| (*text).to_owned());
    }
    if let Some(bits) = name.strip_prefix('r').filter(|bits| bits.bytes().all(|byte| byte.is_ascii_digit())) {
        extension.only(&[])?;
        let bits: u64 = bits.parse().map_err(|_| "it has no number of bits".to_owned())?;
        if bits == 0 || !bits.is_multiple_of(8) {
            return Err("its bits are not whole bytes".to_owned());
        }
        return Ok(format!("V{}", bits / 8));
    }
    match name {
        "null_terminated_bytes" => Ok(format!("S{}", length(extension)?)),
        "raw_bytes" => Ok(format!("V{}", length(extension)?)),
        "fixed_length_utf32" => {
            let bytes = length(extension)?;
            if !bytes.is_multiple_of(4) {
                return Err("its length is not a multiple of the 4 bytes of a letter".to_owned());
            }
            Ok(format!("U{}", bytes / 4))
        }
        "numpy.datetime64" => Ok(format!("M8{}", unit(extension)?)),
        "numpy.timedelta64" => Ok(format!("m8{}", unit(extension)?)),
        _ => Err("it is not supported; read it with the program that wrote it".to_owned()),
    }
}

fn length(extension: Extension<'_>) -> Result<u64, String> {
    extension.only(&["length_bytes"])?;
    let length = extension.get("length_bytes").and_then(Json::as_u64).filter(|&length| length > 0);
    length.ok_or_else(|| "it has no \"length_bytes\" of at least 1".to_owned())
}

fn unit(extension: Extension<'_>) -> Result<String, String> {
    extension.only(&["unit", "scale_factor"])?;
    let unit = extension.get("unit").and_then(Json::as_str).filter(|unit| UNITS.contains(unit));
    let unit = unit.ok_or_else(|| format!("it has no \"unit\" among {UNITS:?}"))?;
    let factor = extension.get("scale_factor").and_then(Json::as_u64);
    let factor = factor.filter(|factor| (1..=MOST_UNITS).contains(factor));
    let factor = factor.ok_or_else(|| "it has no \"scale_factor\" of at least 1".to_owned())?;
    Ok(match (factor, unit) {
        (1, "generic") => String::new(),
        (_, "generic") => return Err("a generic unit has the scale factor 1".to_owned()),
        (1, unit) => format!("[{unit}]"),
        (factor, unit) => format!("[{factor}{unit}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_types_convert_to_those_of_version_2_and_back() {
        let unit = |name: &str, unit: &str, factor: u32| {
            let configuration = json!({"unit": unit, "scale_factor": factor});
            json!({"name": name, "configuration": configuration})
        };
        let length =
            |name: &str, length: u64| json!({"name": name, "configuration": {"length_bytes": length}});
        for (data_type, text) in [
            (json!("bool"), "|b1"),
            (json!("int8"), "|i1"),
            (json!("uint64"), "<u8"),
            (json!("float16"), "<f2"),
            (json!("complex128"), "<c16"),
            (length("raw_bytes", 6), "|V6"),
            (length("null_terminated_bytes", 4), "|S4"),
            (length("fixed_length_utf32", 20), "<U5"),
            (unit("numpy.datetime64", "ns", 1), "<M8[ns]"),
            (unit("numpy.timedelta64", "s", 10), "<m8[10s]"),
            (unit("numpy.timedelta64", "generic", 1), "<m8"),
        ] {
            let dtype = parse(&data_type, ByteOrder::Little).unwrap();
            assert_eq!((dtype.text(), to_json(&dtype)), (text, Some(data_type)));
        }
        assert_eq!(parse(&json!({"name": "int16"}), ByteOrder::Big).unwrap().text(), ">i2");
        assert_eq!(parse(&json!("r48"), ByteOrder::None).unwrap().text(), "|V6");
        assert_eq!(parse(&json!("string"), ByteOrder::None).unwrap(), Dtype::vlen_text());
        assert_eq!(to_json(&Dtype::char()), Some(length("null_terminated_bytes", 1)));
        assert_eq!(to_json(&Dtype::parse("|O").unwrap()), None);
    }

    #[test]
    fn unknown_data_types_are_refused() {
        for data_type in [
            json!("int7"),
            json!("r7"),
            json!("r0"),
            json!("r"),
            json!("r99999999999999999999"),
            json!("r99999999999992"),
            json!("bfloat16"),
            json!(null),
            json!({"name": "int8", "configuration": {"a": 1}}),
            json!({"name": "int8", "more": 1}),
            json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}),
            json!({"name": "null_terminated_bytes"}),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "x", "scale_factor": 1}}),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}}),
            json!({"name": "structured", "configuration": {"fields": [["a", "int32"]]}}),
        ] {
            assert!(parse(&data_type, ByteOrder::Little).is_err(), "{data_type}");
        }
        let unordered = parse(&json!("int32"), ByteOrder::None);
        assert!(matches!(unordered, Err(DtypeError::NoByteOrder { .. })));
    }
}
