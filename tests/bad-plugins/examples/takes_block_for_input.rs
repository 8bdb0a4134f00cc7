//! Takes the size of the block for the length of the input.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Whole;

impl Filter for Whole {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() && chunk.len > 0 {
            chunk.len = *chunk.block_size;
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Whole>(), codec: CODEC);
