//! On failure it frees the caller's block, which the caller then frees again.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Frees;

impl Filter for Frees {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len == 0 {
            chunk.free();
        }
        len
    }
}

plugin!(hdf5: filter::<Frees>(), codec: CODEC);
