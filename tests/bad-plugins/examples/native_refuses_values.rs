//! Its native face refuses the values of every chunk.
use ncz_bad_plugins::abi::native::{Plugin, status};
use ncz_bad_plugins::{Native, Transcoder, plugin, table, transcoder};

struct Refuses;

impl Transcoder for Refuses {
    fn run(_: Native) -> i32 {
        status::VALUES
    }
}

plugin!(native: Plugin { encode: transcoder::<Refuses>(), ..table() });
