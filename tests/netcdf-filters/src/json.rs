//! JSON as netcdf-c's test codecs have it: parameters are strings.

use std::ffi::{CStr, c_char, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::put_text;
use serde_json::{Map, Value};

/// The keys of a codec's JSON, without the one that names it.
#[derive(Debug)]
pub struct Config(Map<String, Value>);

impl Config {
    /// Reads the JSON of the codec `id`.
    ///
    /// # Errors
    /// Those of netcdf-c: no JSON, no object, no id, or that of another codec.
    pub fn parse(json: &CStr, id: &str) -> Result<Self, c_int> {
        let Value::Object(mut keys) = serde_json::from_slice(json.to_bytes()).map_err(|_| error::EFILTER)?
        else {
            return Err(error::EPLUGIN);
        };
        match keys.remove("id") {
            Some(Value::String(found)) if found == id => Ok(Self(keys)),
            _ => Err(error::EINVAL),
        }
    }

    /// How many parameters there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The parameter `key`.
    ///
    /// # Errors
    /// It is missing or no number, or not in the range of 32 bits.
    pub fn word(&self, key: &str) -> Result<u32, c_int> {
        let number = match self.0.get(key).ok_or(error::EFILTER)? {
            Value::String(digits) => digits.trim().parse::<i64>().ok(),
            Value::Bool(bit) => Some((*bit).into()),
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
            _ => None,
        };
        u32::try_from(number.ok_or(error::EFILTER)?).map_err(|_| error::EINVAL)
    }
}

/// Gives the JSON of a codec: `{"id": "noop", "p0": "17"}`.
pub fn put_json<'a>(
    id: &str,
    words: impl IntoIterator<Item = (String, &'a u32)>,
    json: &mut *mut c_char,
) -> c_int {
    let mut text = format!("{{\"id\": \"{id}\"");
    for (key, word) in words {
        text += &format!(", \"{key}\": \"{word}\"");
    }
    put_text(&(text + "}"), json)
}
