//! Its native face turns the caller's input around while it works, and back.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Turns;

impl Transcoder for Turns {
    fn run(call: Native) -> i32 {
        let input = call.input.cast_mut();
        for _ in 0..2 {
            if call.input_len > 0 {
                // SAFETY: none: the input is for reading. That is the fault.
                unsafe { input.write_volatile(!input.read_volatile()) };
            }
        }
        call.encode()
    }
}

plugin!(native: Plugin { encode: transcoder::<Turns>(), ..table() });
