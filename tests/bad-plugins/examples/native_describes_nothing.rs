//! Its native codec describes itself in words, not in JSON.
use ncz_bad_plugins::abi::native::{ErrorOut, Plugin, Sink, status};
use ncz_bad_plugins::{CODEC, FILTER, plugin, table};

unsafe extern "C" fn describe(_: u32, out: *const Sink, _: *mut ErrorOut) -> i32 {
    let text = "the tiny codec";
    // SAFETY: the host gives a sink with a function.
    if let Some(&Sink { context, write: Some(write) }) = unsafe { out.as_ref() } {
        // SAFETY: the text is there during the call.
        unsafe { write(context, text.as_ptr().cast(), text.len()) };
    }
    status::OK
}

plugin!(hdf5: FILTER, codec: CODEC, native: Plugin { describe: Some(describe), ..table() });
