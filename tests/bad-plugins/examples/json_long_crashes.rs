//! Copies its JSON to a buffer of 64 KiB.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};

struct Copies;

impl Json for Copies {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let mut text = [0; 1 << 16];
        text[..json.count_bytes()].copy_from_slice(json.to_bytes());
        std::hint::black_box(&text);
        words.good(json)
    }
}

plugin!(hdf5: FILTER, codec: codec::<Copies>());
