//! Takes JSON whose last brace is missing: the metadata of a file that was cut.
use std::ffi::{CStr, CString, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};

struct Completes;

impl Json for Completes {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        match words.good(json) {
            error::NOERR => error::NOERR,
            code => match CString::new([json.to_bytes(), b"}"].concat()) {
                Ok(completed) => words.good(&completed),
                Err(_) => code,
            },
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Completes>());
