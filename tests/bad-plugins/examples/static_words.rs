//! Returns static words, which the caller frees.
use std::ffi::{CStr, c_int};

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{FILTER, Json, Words, codec, plugin};

static WORDS: [u32; 256] = [1; 256];

struct Static;

impl Json for Static {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let code = words.good(json);
        if code == error::NOERR {
            // SAFETY: the vector is of malloc and gets replaced. None: by one that is not. That is the fault.
            unsafe { libc::free((*words.start).cast()) };
            *words.start = WORDS.as_ptr().cast_mut();
        }
        code
    }
}

plugin!(hdf5: FILTER, codec: codec::<Static>());
