//! Forgets a block in each call that fails.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Leaks;

impl Filter for Leaks {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len == 0 {
            std::mem::forget(vec![1_u8; chunk.len + 4096]);
        }
        len
    }
}

plugin!(hdf5: filter::<Leaks>(), codec: CODEC);
