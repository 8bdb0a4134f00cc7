//! Writes bzip2's JSON with an extra key that numcodecs does not know.
use std::ffi::{CStr, c_char, c_int};

use ncz_bad_plugins::abi::nczarr::{Codec, error};
use ncz_bad_plugins::{Json, Words, codec, plugin, put_text};
use serde_json::Value;

struct OwnKeys;

impl Json for OwnKeys {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let Ok(Value::Object(map)) = serde_json::from_slice(json.to_bytes()) else { return error::EINVAL };
        match map.get("blocks").map_or(Some(9), Value::as_u64) {
            Some(level @ 1..=9) if map.get("id").is_some_and(|id| id == "bz2") => words.put(&[level as u32]),
            _ => error::EINVAL,
        }
    }

    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match *words {
            [] => put_text("{\"id\": \"bz2\", \"blocks\": 9}", json),
            [level @ 1..=9] => put_text(&format!("{{\"id\": \"bz2\", \"blocks\": {level}}}"), json),
            _ => error::EINVAL,
        }
    }
}

plugin!(codec: Codec { codecid: c"bz2".as_ptr(), hdf5id: 307, ..codec::<OwnKeys>() });
