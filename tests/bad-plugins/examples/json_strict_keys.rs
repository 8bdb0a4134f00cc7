//! Refuses JSON with a key that it does not know; other programs add such keys.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};
use serde_json::Value;

struct Strict;

impl Json for Strict {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        match serde_json::from_slice(json.to_bytes()) {
            Ok(Value::Object(map)) if map.keys().any(|key| key != "id" && key != "level") => error::EINVAL,
            _ => words.good(json),
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Strict>());
