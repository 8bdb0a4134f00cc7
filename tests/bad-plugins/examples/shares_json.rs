//! Keeps the parameter in a global variable while it reads and writes JSON.
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ncz_bad_plugins::abi::nczarr::error;
use ncz_bad_plugins::{FILTER, Json, Words, codec, good_json, plugin};

static LEVEL: AtomicU32 = AtomicU32::new(1);

fn passed_on(level: u32) -> u32 {
    LEVEL.store(level, Ordering::Relaxed);
    std::thread::sleep(Duration::from_micros(50));
    LEVEL.load(Ordering::Relaxed)
}

struct Shares;

impl Json for Shares {
    fn to_words(json: &CStr, words: &mut Words<'_>) -> c_int {
        let code = words.good(json);
        if code == error::NOERR && *words.count == 1 {
            // SAFETY: a good codec has just given one word there.
            unsafe { **words.start = passed_on(**words.start) };
        }
        code
    }

    fn to_json(words: &[u32], json: &mut *mut c_char) -> c_int {
        match *words {
            [word @ 1..=255] => good_json(&[passed_on(word)], json),
            _ => good_json(words, json),
        }
    }
}

plugin!(hdf5: FILTER, codec: codec::<Shares>());
