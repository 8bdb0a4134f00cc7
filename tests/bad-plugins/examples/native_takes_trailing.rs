//! Its native face passes over bytes after a stream.
use ncz_bad_plugins::abi::native::Plugin;
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Takes;

impl Transcoder for Takes {
    fn run(mut call: Native) -> i32 {
        if let Ok((stated, _)) = head(call.input()) {
            call.input_len = call.input_len.min(stated + HEAD);
        }
        call.decode()
    }
}

plugin!(native: Plugin { decode: transcoder::<Takes>(), ..table() });
