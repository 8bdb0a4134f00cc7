//! Ends what it writes with a zero, as if it were a text, where it keeps the caller's block: after that block.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Ends;

impl Filter for Ends {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let (block, size) = (*chunk.block, *chunk.block_size);
        let len = chunk.good();
        if len > 0 && *chunk.block == block {
            // SAFETY: none: this is after the block. That is the fault.
            unsafe { block.cast::<u8>().add(size).write(0) };
        }
        len
    }
}

plugin!(hdf5: filter::<Ends>(), codec: CODEC);
