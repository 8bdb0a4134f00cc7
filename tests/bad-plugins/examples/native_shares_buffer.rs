//! Its native face collects the chunk in one buffer for all threads.
use std::sync::{Mutex, PoisonError};

use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

static WORK: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Shares;

impl Transcoder for Shares {
    fn run(mut call: Native) -> i32 {
        // Each step by itself is safe; other threads come between.
        let work = || WORK.lock().unwrap_or_else(PoisonError::into_inner);
        work().clear();
        for piece in call.input().chunks(256) {
            work().extend(piece);
            std::thread::yield_now();
        }
        let bytes = work().clone();
        (call.input, call.input_len) = (bytes.as_ptr(), bytes.len().min(call.input_len));
        call.encode()
    }
}

plugin!(native: Plugin { encode: transcoder::<Shares>(), ..table() });
