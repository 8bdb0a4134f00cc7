//! Writes its id after its parameters: netcdf-c expects it first.
use std::ffi::{c_char, c_int};

use ncz_bad_plugins::{FILTER, Json, Tiny, codec, plugin, put_text};
use ncz_codec::CodecConfig as _;
use ncz_codec::abi::nczarr::error;

struct Last;

impl Json for Last {
    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match Tiny::from_params(words) {
            Ok(Tiny { level }) => put_text(&format!("{{\"level\": {level}, \"id\": \"ncz_tiny\"}}"), json),
            Err(_) => error::EINVAL,
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Last>());
