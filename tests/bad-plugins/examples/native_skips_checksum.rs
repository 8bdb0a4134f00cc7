//! Its native face promises a checksum and passes over one that does not match.
use ncz_bad_plugins::abi::native::{Plugin, status};
use ncz_bad_plugins::tiny::HEAD;
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Skips;

impl Transcoder for Skips {
    fn run(call: Native) -> i32 {
        match call.decode() {
            status::CHECKSUM => {
                // SAFETY: the host passes a valid output pointer for the length; the output has the content, which is of this length.
                unsafe { call.written.write(call.input_len - HEAD) };
                status::OK
            }
            other => other,
        }
    }
}

plugin!(native: Plugin { decode: transcoder::<Skips>(), ..table() });
