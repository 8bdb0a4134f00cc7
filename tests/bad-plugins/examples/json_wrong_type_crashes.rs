//! Relies on a number after the key `level`.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};
use serde_json::Value;

struct Relies;

impl Json for Relies {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        if let Ok(Value::Object(map)) = serde_json::from_slice(json.to_bytes())
            && let Some(level) = map.get("level")
            && !level.is_number()
        {
            std::process::abort();
        }
        words.good(json)
    }
}

plugin!(hdf5: FILTER, codec: codec::<Relies>());
