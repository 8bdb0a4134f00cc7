//! Reads JSON by recursion without a limit: deep JSON ends the stack.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};

struct Recurses;

impl Json for Recurses {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        std::hint::black_box(depth(json.to_bytes()));
        words.good(json)
    }
}

/// The nesting, with a good deal of the stack for each level.
#[inline(never)]
fn depth(text: &[u8]) -> usize {
    let scratch = std::hint::black_box([1_u8; 2048]);
    match text.iter().position(|byte| matches!(byte, b'[' | b'{')) {
        Some(at) => depth(&text[at + 1..]) + usize::from(scratch[at % 2048]),
        None => 0,
    }
}

plugin!(hdf5: FILTER, codec: codec::<Recurses>());
