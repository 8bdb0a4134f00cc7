//! Writes another id into its JSON than its record has.
use std::ffi::{c_char, c_int};

use ncz_bad_plugins::{FILTER, Json, Tiny, codec, plugin, put_text};
use ncz_codec::CodecConfig as _;
use ncz_codec::abi::nczarr::error;

struct Other;

impl Json for Other {
    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match Tiny::from_params(words) {
            Ok(Tiny { level }) => put_text(&format!("{{\"id\": \"tiny\", \"level\": {level}}}"), json),
            Err(_) => error::EINVAL,
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Other>());
