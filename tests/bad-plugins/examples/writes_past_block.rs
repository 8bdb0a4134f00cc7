//! Terminates its output with a zero, like a string, if it keeps the caller's block: after that block.
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
