//! Writes another parameter into JSON than it was given.
use std::ffi::{c_char, c_int};

use ncz_bad_plugins::{FILTER, Json, codec, good_json, plugin};

struct Changes;

impl Json for Changes {
    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match *words {
            [word @ 1..255] => good_json(&[word + 1], json),
            _ => good_json(words, json),
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Changes>());
