//! Forgets a block in each good call.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Leaks;

impl Filter for Leaks {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        std::mem::forget(vec![1_u8; len]);
        len
    }
}

plugin!(hdf5: filter::<Leaks>(), codec: CODEC);
