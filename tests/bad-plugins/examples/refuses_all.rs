//! Refuses every chunk.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Refuses;

impl Filter for Refuses {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding() { chunk.good() } else { 0 }
    }
}

plugin!(hdf5: filter::<Refuses>(), codec: CODEC);
