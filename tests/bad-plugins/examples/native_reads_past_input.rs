//! Its native face reads one byte after the stream.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Looks;

impl Transcoder for Looks {
    fn run(call: Native) -> i32 {
        if call.input_len > 0 {
            // SAFETY: not safe: there may not be another byte. That is the fault.
            let next = unsafe { call.input.add(call.input_len).read_volatile() };
            std::hint::black_box(next);
        }
        call.decode()
    }
}

plugin!(native: Plugin { decode: transcoder::<Looks>(), ..table() });
