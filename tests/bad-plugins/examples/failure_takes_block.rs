//! On failure it leaves a null pointer in place of the caller's block.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Takes;

impl Filter for Takes {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len == 0 {
            chunk.free();
            *chunk.block = std::ptr::null_mut();
        }
        len
    }
}

plugin!(hdf5: filter::<Takes>(), codec: CODEC);
