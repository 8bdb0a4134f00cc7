//! Takes 1 for a `level` that is not a number.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};
use serde_json::Value;

struct Takes;

impl Json for Takes {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        match serde_json::from_slice::<Value>(json.to_bytes()) {
            Ok(Value::Object(map)) if map.get("level").is_some_and(|level| !level.is_number()) => {
                words.put(&[1])
            }
            _ => words.good(json),
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Takes>());
