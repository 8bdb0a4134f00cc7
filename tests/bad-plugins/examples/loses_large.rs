//! Keeps the length of a chunk in 20 bits.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Wraps;

impl Filter for Wraps {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() && chunk.len >= 1 << 20 {
            chunk.len = (chunk.len & ((1 << 20) - 1)).max(1);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Wraps>(), codec: CODEC);
