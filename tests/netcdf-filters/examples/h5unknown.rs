//! netcdf-c's filter `unknown`, which tests take away.
use std::ffi::{c_char, c_int, c_uint};

use ncz_bad_plugins::abi::nczarr::{Codec, error};
use ncz_bad_plugins::{Chunk, Filter, plugin};
use ncz_netcdf_filters::{bare_codec, named_filter, put_json};

const ID: u32 = 33000;
const CODEC: Codec =
    Codec { codec_to_hdf5: Some(to_words), hdf5_to_codec: Some(to_json), ..bare_codec(ID, c"unknown") };

struct Unknown;

impl Filter for Unknown {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let bytes = chunk.input().to_vec();
        chunk.put(&bytes)
    }
}

/// Reads nothing of the JSON, as the one in C.
unsafe extern "C" fn to_words(_json: *const c_char, count: *mut usize, words: *mut *mut c_uint) -> c_int {
    // SAFETY: netcdf-c passes valid output pointers.
    unsafe {
        count.write(0);
        words.write(std::ptr::null_mut());
    }
    error::NOERR
}

/// Wants a null pointer for no parameters, as the one in C.
unsafe extern "C" fn to_json(count: usize, words: *const c_uint, json: *mut *mut c_char) -> c_int {
    // SAFETY: netcdf-c passes a valid output pointer, or null.
    match unsafe { json.as_mut() } {
        _ if count != 0 || !words.is_null() => error::EINVAL,
        Some(json) => put_json("unknown", [], json),
        None => error::NOERR,
    }
}

plugin!(hdf5: named_filter::<Unknown>(ID, c"unknown"), codec: CODEC);
