//! Reports more words than it returns.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};

struct Claims;

impl Json for Claims {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let code = words.good(json);
        if code == error::NOERR {
            *words.count = 1000;
        }
        code
    }
}

plugin!(hdf5: FILTER, codec: codec::<Claims>());
