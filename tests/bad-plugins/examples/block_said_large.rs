//! Reports a block that is a megabyte larger than it is.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Large;

impl Filter for Large {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len > 0 {
            *chunk.block_size += 1 << 20;
        }
        len
    }
}

plugin!(hdf5: filter::<Large>(), codec: CODEC);
