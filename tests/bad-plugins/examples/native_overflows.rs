//! Its native face does not look at the size of the output.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Overflows;

impl Transcoder for Overflows {
    fn run(mut call: Native) -> i32 {
        // Not safe: the output is smaller. That is the fault.
        call.output_capacity = isize::MAX as usize;
        call.decode()
    }
}

plugin!(native: Plugin { decode: transcoder::<Overflows>(), ..table() });
