//! Its native face marks a stream as read, in the caller's memory.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Marks;

impl Transcoder for Marks {
    fn run(call: Native) -> i32 {
        let status = call.decode();
        if call.input_len > 0 {
            // SAFETY: none: the input is for reading. That is the fault.
            unsafe { call.input.cast_mut().write_volatile(!call.input.read()) };
        }
        status
    }
}

plugin!(native: Plugin { decode: transcoder::<Marks>(), ..table() });
