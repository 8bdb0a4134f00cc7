//! The codecs of numcodecs that compute with numbers: their configurations name the type, and some lose digits.

use ncz_codec::{Dtype, Kind, Names, Number};
use serde_json::{Map, Value, json};

/// Configurations for elements of this type, none if the codec does not support them; `None` for any other codec.
pub(super) fn configs(names: &Names, dtype: Dtype) -> Option<Vec<Map<String, Value>>> {
    let name = names
        .iter()
        .find(|name| matches!(*name, "astype" | "bitround" | "delta" | "fixedscaleoffset" | "quantize"))?;
    let number = Number::new(dtype).ok();
    let text = number.map(|number| number.to_string());
    let is_float = dtype.kind == Kind::Float;
    let configs = match name {
        // Every number of these is a double, too.
        "astype" if number.is_some() && !is_float && dtype.size <= 4 => {
            vec![json!({"encode_dtype": "<f8", "decode_dtype": text})]
        }
        "bitround" => vec![json!({"keepbits": 9}), json!({"keepbits": 8})],
        // Sums of differences of floating-point numbers are other numbers.
        "delta" if number.is_some() && !is_float => vec![json!({"dtype": text})],
        // What is computed in doubles is exact for these.
        "fixedscaleoffset" if number.is_some() && !is_float && dtype.size <= 4 => {
            vec![
                json!({"offset": 0, "scale": 1, "dtype": text}),
                json!({"offset": 0.5, "scale": 2.0, "dtype": text, "astype": "<i8"}),
            ]
        }
        "quantize" if number.is_some() && is_float => {
            [3, 0].map(|digits| json!({"digits": digits, "dtype": text})).to_vec()
        }
        _ => Vec::new(),
    };
    Some(configs.into_iter().filter_map(|json| json.as_object().cloned()).collect())
}
