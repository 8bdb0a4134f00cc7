//! Its codec has the name that is another filter's.
use std::ffi::{CStr, CString, c_char, c_int};

use ncz_bad_plugins::abi::nczarr::{Codec, error};
use ncz_bad_plugins::{FILTER, Json, Tiny, Words, codec, plugin, put_text};
use ncz_codec::CodecConfig as _;

struct Lzf;

impl Json for Lzf {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        match CString::new(json.to_string_lossy().replace("\"lzf\"", "\"ncz_tiny\"")) {
            Ok(json) => words.good(&json),
            Err(_) => error::EINVAL,
        }
    }

    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match Tiny::from_params(words) {
            Ok(Tiny { level }) => put_text(&format!("{{\"id\": \"lzf\", \"level\": {level}}}"), json),
            Err(_) => error::EINVAL,
        }
    }
}

plugin!(hdf5: FILTER, codec: Codec { codecid: c"lzf".as_ptr(), ..codec::<Lzf>() });
