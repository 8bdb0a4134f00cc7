//! Relies on the key `level` in its JSON.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};
use serde_json::Value;

struct Relies;

impl Json for Relies {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        if let Ok(Value::Object(map)) = serde_json::from_slice(json.to_bytes()) {
            // panics, which ends the process
            std::hint::black_box(&map["level"]);
        }
        words.good(json)
    }
}

plugin!(hdf5: FILTER, codec: codec::<Relies>());
