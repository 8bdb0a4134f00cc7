//! Reports a block size of one byte, whatever it returns.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Small;

impl Filter for Small {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len > 0 {
            *chunk.block_size = 1;
        }
        len
    }
}

plugin!(hdf5: filter::<Small>(), codec: CODEC);
