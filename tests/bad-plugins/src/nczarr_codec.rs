//! The NCZarr codec: a codec's record and functions, with hooks for the fault.

use std::ffi::{CStr, c_char, c_int, c_uint};

use ncz_codec::abi::nczarr::{CODEC_VERSION, Codec, SORT_HDF5, error};
use ncz_codec::export::nczarr_face;

use crate::tiny::{ID, NAME, Tiny};

/// The record of a codec without fault.
pub const CODEC: Codec = Codec {
    version: CODEC_VERSION,
    sort: SORT_HDF5,
    codecid: NAME.as_ptr(),
    hdf5id: ID,
    initialize: None,
    finalize: None,
    codec_to_hdf5: Some(nczarr_face::codec_to_hdf5::<Tiny>),
    hdf5_to_codec: Some(nczarr_face::hdf5_to_codec::<Tiny>),
    modify_parameters: None,
};

/// Conversions with a fault: one of the functions, or both.
pub trait Json {
    /// `NCZ_codec_to_hdf5`.
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        words.good(json)
    }

    /// `NCZ_hdf5_to_codec`.
    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        good_json(words, json)
    }
}

/// The record of a codec that converts with `J` and is good in all else.
pub const fn codec<J: Json>() -> Codec {
    Codec { codec_to_hdf5: Some(to_words::<J>), hdf5_to_codec: Some(to_json::<J>), ..CODEC }
}

/// The output pointer for the words.
#[derive(Debug)]
pub struct Words<'a> {
    ///    /// The output pointer for their number.
    pub count: &'a mut usize,
    /// A vector of malloc.
    pub start: &'a mut *mut c_uint,
}

impl Words<'_> {
    /// Does what a good codec does.
    pub fn good(&mut self, json: &CStr) -> c_int {
        // SAFETY: a C string and two output pointers.
        unsafe { nczarr_face::codec_to_hdf5::<Tiny>(json.as_ptr(), self.count, self.start) }
    }

    /// Returns `words` in a vector from malloc.
    pub fn put(&mut self, words: &[u32]) -> c_int {
        // SAFETY: any size is allowed; the result is checked.
        let start = unsafe { libc::malloc(size_of_val(words).max(1)) }.cast::<u32>();
        if start.is_null() {
            return error::ENOMEM;
        }
        // SAFETY: the block is large enough, and aligned for every ordinary type.
        unsafe { start.copy_from_nonoverlapping(words.as_ptr(), words.len()) };
        (*self.start, *self.count) = (start, words.len());
        error::NOERR
    }
}

/// Returns a good codec's JSON for words.
pub fn good_json(words: &[u32], json: &mut *mut c_char) -> c_int {
    // SAFETY: a slice and an output pointer.
    unsafe { nczarr_face::hdf5_to_codec::<Tiny>(words.len(), words.as_ptr(), json) }
}

/// Returns `text` in a string from malloc.
pub fn put_text(text: &str, json: &mut *mut c_char) -> c_int {
    // SAFETY: any size is allowed; the result is checked.
    let start = unsafe { libc::malloc(text.len() + 1) }.cast::<u8>();
    if start.is_null() {
        return error::ENOMEM;
    }
    // SAFETY: the block holds the text and its end.
    unsafe {
        start.copy_from_nonoverlapping(text.as_ptr(), text.len());
        start.add(text.len()).write(0);
    }
    *json = start.cast();
    error::NOERR
}

unsafe extern "C" fn to_words<J: Json>(
    json: *const c_char,
    count: *mut usize,
    start: *mut *mut c_uint,
) -> c_int {
    // SAFETY: netcdf-c passes valid output pointers.
    let (Some(count), Some(start)) = (unsafe { (count.as_mut(), start.as_mut()) }) else {
        return error::EINVAL;
    };
    if json.is_null() {
        return error::EINVAL;
    }
    // SAFETY: not null, and netcdf-c promises a C string.
    J::to_words(unsafe { CStr::from_ptr(json) }, &mut Words { count, start })
}

unsafe extern "C" fn to_json<J: Json>(count: usize, words: *const c_uint, json: *mut *mut c_char) -> c_int {
    // SAFETY: netcdf-c passes a valid output pointer.
    let Some(json) = (unsafe { json.as_mut() }) else { return error::EINVAL };
    let words = match count {
        0 => &[],
        _ if words.is_null() => return error::EINVAL,
        // SAFETY: not null, and netcdf-c promises that many.
        _ => unsafe { std::slice::from_raw_parts(words, count) },
    };
    J::to_json(words, json)
}
