//! Ends the process, as if all were well, when a stream does not begin as it should.
use ncz_bad_plugins::tiny::{HEAD, MAGIC};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Exits;

impl Filter for Exits {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding() && chunk.len >= HEAD && !chunk.input().starts_with(&MAGIC) {
            std::process::exit(0);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Exits>(), codec: CODEC);
