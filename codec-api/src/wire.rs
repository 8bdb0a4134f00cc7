//! The JSON texts that a plugin and a host exchange through the native face.
//!
//! Numbers are JSON integers, bytes are hexadecimal text. Unknown keys are ignored, so that either side
//! may be newer.
//!
//! | text | JSON |
//! | --- | --- |
//! | info | `{"name", "summary", "filter_id": n or null, "numcodecs": [..], "zarr_v3": [..], "has_working_params", "has_checksum", "lossy": true, false or null (not known; may be absent)}` |
//! | dtype | `{"kind": "bool", "int", "uint", "float", "complex" or "opaque", "size", "order": "little" or "big"}` |
//! | representation | `{"array": {"dtype", "shape": [..], "fill": hex or null}}`, `{"bytes": {"exact": n}}`, `{"bytes": {"at_most": n}}` or `{"bytes": {}}` |
//! | environment | `{"dtype", "array_shape": [..], "chunk_shape": [..], "container": "hdf5", "zarr_v2", "nczarr_v2" or "zarr_v3"}` |
//! | bind request | `{"input": representation, "env": environment}` |
//! | bind response | `{"working": [words], "output": representation, "lossy": true, false or null (as the info says; may be absent)}` |

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::abi::native::{dialect, status};
use crate::dialect::Dialect;
use crate::error::{CodecError, ErrorKind, Result};
use crate::info::{CodecInfo, Names};
use crate::repr::{ByteOrder, Container, Dtype, Env, Kind, Repr, Size};

/// JSON nested deeper than this is refused.
pub const DEPTH_MAX: usize = 64;
/// JSON texts longer than this are refused.
pub const TEXT_MAX: usize = 16 << 20;

/// Reads a JSON object from text that is not trusted.
///
/// # Errors
/// Not JSON, not an object, nested deeper than [`DEPTH_MAX`] or longer than [`TEXT_MAX`].
pub fn parse_object(text: &[u8]) -> Result<Map<String, Value>> {
    match parse(text)? {
        Value::Object(map) => Ok(map),
        _ => Err(CodecError::unsupported("JSON that is not an object")),
    }
}

/// Reads a JSON array of parameter words.
///
/// # Errors
/// As for [`parse_object`], or an element is not a 32-bit word.
pub fn parse_words(text: &[u8]) -> Result<Vec<u32>> {
    words(&parse(text)?)
}

/// An info as JSON.
pub fn info_to_json(info: &CodecInfo) -> Value {
    json!({
        "name": info.name,
        "summary": info.summary,
        "filter_id": info.filter_id,
        "numcodecs": info.numcodecs.iter().collect::<Vec<_>>(),
        "zarr_v3": info.zarr_v3.iter().collect::<Vec<_>>(),
        "has_working_params": info.has_working_params,
        "has_checksum": info.has_checksum,
        "lossy": info.lossy,
    })
}

/// An info from JSON.
///
/// # Errors
/// A key is missing or of another type.
pub fn info_from_json(text: &[u8]) -> Result<CodecInfo> {
    let value = Value::Object(parse_object(text)?);
    let names = |key| -> Result<_> {
        let list = array(&value, key)?.iter().map(Value::as_str);
        list.collect::<Option<Names>>().ok_or_else(|| unusable(key, &value[key]))
    };
    Ok(CodecInfo {
        name: Cow::Owned(text_at(&value, "name")?.to_owned()),
        summary: Cow::Owned(text_at(&value, "summary")?.to_owned()),
        filter_id: match &value["filter_id"] {
            Value::Null => None,
            id => Some(word(id).ok_or_else(|| unusable("filter_id", id))?),
        },
        numcodecs: names("numcodecs")?,
        zarr_v3: names("zarr_v3")?,
        has_working_params: flag_at(&value, "has_working_params")?,
        has_checksum: flag_at(&value, "has_checksum")?,
        lossy: lossy_at(&value)?,
    })
}

/// A bind request as JSON.
pub fn request_to_json(input: &Repr, env: &Env) -> Value {
    json!({ "input": repr_to_json(input), "env": env_to_json(env) })
}

/// A bind request from JSON.
///
/// # Errors
/// A key is missing or of another type.
pub fn request_from_json(text: &[u8]) -> Result<(Repr, Env)> {
    let request = Value::Object(parse_object(text)?);
    Ok((repr_from_json(&request["input"])?, env_from_json(&request["env"])?))
}

/// A bind response as JSON.
pub fn response_to_json(working: &[u32], output: &Repr, lossy: Option<bool>) -> Value {
    json!({ "working": working, "output": repr_to_json(output), "lossy": lossy })
}

/// A bind response from JSON.
///
/// # Errors
/// A key is missing or of another type.
pub fn response_from_json(text: &[u8]) -> Result<(Vec<u32>, Repr, Option<bool>)> {
    let response = Value::Object(parse_object(text)?);
    Ok((words(&response["working"])?, repr_from_json(&response["output"])?, lossy_at(&response)?))
}

/// The number of a dialect.
pub fn dialect_number(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::Numcodecs => dialect::NUMCODECS,
        Dialect::ZarrV3 => dialect::ZARR_V3,
    }
}

/// The dialect of a number.
///
/// # Errors
/// The number does not belong to a dialect.
pub fn dialect_of(number: u32) -> Result<Dialect> {
    match number {
        dialect::NUMCODECS => Ok(Dialect::Numcodecs),
        dialect::ZARR_V3 => Ok(Dialect::ZarrV3),
        _ => Err(CodecError::unsupported(format!("JSON dialect number {number}"))),
    }
}

/// An error's number and its two numeric fields.
pub fn error_numbers(kind: &ErrorKind) -> (i32, u64, u64) {
    match *kind {
        ErrorKind::Truncated => (status::TRUNCATED, 0, 0),
        ErrorKind::Trailing { extra } => (status::TRAILING, extra, 0),
        ErrorKind::Size { want, got } => (status::SIZE, want, got),
        ErrorKind::Checksum => (status::CHECKSUM, 0, 0),
        ErrorKind::Corrupt => (status::CORRUPT, 0, 0),
        ErrorKind::OutputFull { need } => (status::OUTPUT_FULL, need.unwrap_or(0), need.is_some().into()),
        ErrorKind::Config { .. } => (status::CONFIG, 0, 0),
        ErrorKind::Unsupported => (status::UNSUPPORTED, 0, 0),
        ErrorKind::Plugin { code } => (status::PLUGIN, code as u64, 0),
        ErrorKind::Panicked => (status::PANICKED, 0, 0),
        ErrorKind::Values => (status::VALUES, 0, 0),
    }
}

/// An error from its number, numeric fields, key (of a configuration) and text.
pub fn error_of(number: i32, first: u64, second: u64, key: &str, detail: &str) -> CodecError {
    let kind = match number {
        status::TRUNCATED => ErrorKind::Truncated,
        status::TRAILING => ErrorKind::Trailing { extra: first },
        status::SIZE => ErrorKind::Size { want: first, got: second },
        status::CHECKSUM => ErrorKind::Checksum,
        status::CORRUPT => ErrorKind::Corrupt,
        status::OUTPUT_FULL => ErrorKind::OutputFull { need: (second == 1).then_some(first) },
        status::CONFIG => ErrorKind::Config { key: key.to_owned() },
        status::UNSUPPORTED => ErrorKind::Unsupported,
        status::PLUGIN => ErrorKind::Plugin { code: first as i64 },
        status::PANICKED => ErrorKind::Panicked,
        status::VALUES => ErrorKind::Values,
        // A kind from a newer plugin.
        other => ErrorKind::Plugin { code: other.into() },
    };
    CodecError::new(kind, detail)
}

fn repr_to_json(repr: &Repr) -> Value {
    match repr {
        Repr::Array { dtype, shape, fill } => json!({
            "array": { "dtype": dtype_to_json(dtype), "shape": shape, "fill": fill.as_deref().map(hex) }
        }),
        Repr::Bytes { size } => match size {
            Size::Exact(n) => json!({ "bytes": { "exact": n } }),
            Size::AtMost(n) => json!({ "bytes": { "at_most": n } }),
            Size::Unknown => json!({ "bytes": {} }),
        },
    }
}

fn repr_from_json(value: &Value) -> Result<Repr> {
    if let Some(array) = value.get("array") {
        return Ok(Repr::Array {
            dtype: dtype_from_json(&array["dtype"])?,
            shape: lengths(array, "shape")?,
            fill: match &array["fill"] {
                Value::Null => None,
                fill => Some(fill.as_str().and_then(unhex).ok_or_else(|| unusable("fill", fill))?),
            },
        });
    }
    let Some(Value::Object(bytes)) = value.get("bytes") else {
        return Err(unusable("input or output", value));
    };
    let size = |value: &Value| length(value).ok_or_else(|| unusable("bytes", value));
    let size = match (bytes.get("exact"), bytes.get("at_most")) {
        (Some(n), _) => Size::Exact(size(n)?),
        (None, Some(n)) => Size::AtMost(size(n)?),
        (None, None) => Size::Unknown,
    };
    Ok(Repr::Bytes { size })
}

fn env_to_json(env: &Env) -> Value {
    json!({
        "dtype": dtype_to_json(&env.dtype),
        "array_shape": env.array_shape,
        "chunk_shape": env.chunk_shape,
        "container": match env.container {
            Container::Hdf5 => "hdf5",
            Container::ZarrV2 => "zarr_v2",
            Container::NczarrV2 => "nczarr_v2",
            Container::ZarrV3 => "zarr_v3",
        },
    })
}

fn env_from_json(env: &Value) -> Result<Env> {
    Ok(Env {
        dtype: dtype_from_json(&env["dtype"])?,
        array_shape: lengths(env, "array_shape")?,
        chunk_shape: lengths(env, "chunk_shape")?,
        container: match text_at(env, "container")? {
            "hdf5" => Container::Hdf5,
            "zarr_v2" => Container::ZarrV2,
            "nczarr_v2" => Container::NczarrV2,
            "zarr_v3" => Container::ZarrV3,
            _ => return Err(unusable("container", &env["container"])),
        },
    })
}

fn dtype_to_json(dtype: &Dtype) -> Value {
    let kind = match dtype.kind {
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::UInt => "uint",
        Kind::Float => "float",
        Kind::Complex => "complex",
        Kind::Opaque => "opaque",
    };
    let order = match dtype.order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    json!({ "kind": kind, "size": dtype.size, "order": order })
}

fn dtype_from_json(dtype: &Value) -> Result<Dtype> {
    let kind = match text_at(dtype, "kind")? {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "uint" => Kind::UInt,
        "float" => Kind::Float,
        "complex" => Kind::Complex,
        "opaque" => Kind::Opaque,
        _ => return Err(unusable("kind", &dtype["kind"])),
    };
    let order = match text_at(dtype, "order")? {
        "little" => ByteOrder::Little,
        "big" => ByteOrder::Big,
        _ => return Err(unusable("order", &dtype["order"])),
    };
    let size = length(&dtype["size"]).filter(|&size| size > 0);
    Ok(Dtype { kind, size: size.ok_or_else(|| unusable("size", &dtype["size"]))?, order })
}

fn parse(text: &[u8]) -> Result<Value> {
    if text.len() > TEXT_MAX {
        return Err(CodecError::unsupported(format!("JSON of {} bytes", text.len())));
    }
    let value = serde_json::from_slice(text)
        .map_err(|error| CodecError::unsupported(format!("not JSON: {error}")))?;
    if depth_exceeds(&value, DEPTH_MAX) {
        return Err(CodecError::unsupported(format!("JSON nested deeper than {DEPTH_MAX}")));
    }
    Ok(value)
}

/// The recursion is bounded by the parser's own limit of 128.
fn depth_exceeds(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if most == 0 => true,
        Value::Array(items) => items.iter().any(|item| depth_exceeds(item, most - 1)),
        Value::Object(map) => map.values().any(|item| depth_exceeds(item, most - 1)),
        _ => false,
    }
}

fn text_at<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().ok_or_else(|| unusable(key, &value[key]))
}

fn flag_at(value: &Value, key: &str) -> Result<bool> {
    value[key].as_bool().ok_or_else(|| unusable(key, &value[key]))
}

/// What may be absent.
fn lossy_at(value: &Value) -> Result<Option<bool>> {
    match &value["lossy"] {
        Value::Null => Ok(None),
        known => known.as_bool().map(Some).ok_or_else(|| unusable("lossy", known)),
    }
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a [Value]> {
    value[key].as_array().map(Vec::as_slice).ok_or_else(|| unusable(key, &value[key]))
}

fn lengths(value: &Value, key: &str) -> Result<Vec<u64>> {
    let list = array(value, key)?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>();
    list.ok_or_else(|| unusable(key, &value[key]))
}

fn words(value: &Value) -> Result<Vec<u32>> {
    let list = value.as_array().and_then(|list| list.iter().map(word).collect::<Option<Vec<_>>>());
    list.ok_or_else(|| unusable("parameter words", value))
}

fn word(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn length(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn unusable(key: &str, value: &Value) -> CodecError {
    CodecError::unsupported(format!("{key} is {value} in a JSON text of the native interface"))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| DIGITS[usize::from(digit)] as char)
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().map(|c| Some(c.to_digit(16)? as u8)).collect::<Option<Vec<_>>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dtypes() -> impl Strategy<Value = Dtype> {
        let kinds = [Kind::Bool, Kind::Int, Kind::UInt, Kind::Float, Kind::Complex, Kind::Opaque];
        let orders = [ByteOrder::Little, ByteOrder::Big];
        (prop::sample::select(kinds.to_vec()), 1..usize::MAX, prop::sample::select(orders.to_vec()))
            .prop_map(|(kind, size, order)| Dtype { kind, size, order })
    }

    fn reprs() -> impl Strategy<Value = Repr> {
        let fill = prop::option::of(prop::collection::vec(any::<u8>(), 0..20));
        prop_oneof![
            (dtypes(), prop::collection::vec(any::<u64>(), 0..5), fill)
                .prop_map(|(dtype, shape, fill)| Repr::Array { dtype, shape, fill }),
            any::<usize>().prop_map(|n| Repr::Bytes { size: Size::Exact(n) }),
            any::<usize>().prop_map(|n| Repr::Bytes { size: Size::AtMost(n) }),
            Just(Repr::Bytes { size: Size::Unknown }),
        ]
    }

    fn envs() -> impl Strategy<Value = Env> {
        let containers = [Container::Hdf5, Container::ZarrV2, Container::NczarrV2, Container::ZarrV3];
        let shapes = || prop::collection::vec(any::<u64>(), 0..5);
        (dtypes(), shapes(), shapes(), prop::sample::select(containers.to_vec())).prop_map(
            |(dtype, array_shape, chunk_shape, container)| Env { dtype, array_shape, chunk_shape, container },
        )
    }

    proptest! {
        #[test]
        fn requests_and_responses_survive(
            input in reprs(),
            env in envs(),
            working in prop::collection::vec(any::<u32>(), 0..9),
            lossy: Option<bool>,
        ) {
            let text = request_to_json(&input, &env).to_string();
            prop_assert_eq!(request_from_json(text.as_bytes()).unwrap(), (input.clone(), env));
            let text = response_to_json(&working, &input, lossy).to_string();
            prop_assert_eq!(response_from_json(text.as_bytes()).unwrap(), (working.clone(), input.clone(), lossy));
            // A property that an older plugin does not report is unknown.
            let text = text.replace("\"lossy\"", "\"other\"");
            prop_assert_eq!(response_from_json(text.as_bytes()).unwrap(), (working, input, None));
        }

        #[test]
        fn junk_is_an_error(text in ".{0,80}") {
            prop_assert!(request_from_json(text.as_bytes()).is_err());
            prop_assert!(info_from_json(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn every_kind_of_error_survives() {
        let kinds = [
            ErrorKind::Truncated,
            ErrorKind::Trailing { extra: 7 },
            ErrorKind::Size { want: 1, got: u64::MAX },
            ErrorKind::Checksum,
            ErrorKind::Corrupt,
            ErrorKind::OutputFull { need: None },
            ErrorKind::OutputFull { need: Some(0) },
            ErrorKind::Config { key: "level".to_owned() },
            ErrorKind::Unsupported,
            ErrorKind::Plugin { code: -3 },
            ErrorKind::Panicked,
            ErrorKind::Values,
        ];
        for kind in kinds {
            let (number, first, second) = error_numbers(&kind);
            assert_eq!(error_of(number, first, second, "level", "x"), CodecError::new(kind, "x"));
        }
    }

    #[test]
    fn deep_json_is_refused() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_object(nested(DEPTH_MAX - 1).as_bytes()).is_ok());
        assert!(parse_object(nested(DEPTH_MAX).as_bytes()).is_err());
        assert!(parse_object(nested(100_000).as_bytes()).is_err());
    }
}
