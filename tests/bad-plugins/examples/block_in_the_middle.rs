//! Returns an address in the middle of a block of malloc, after its own notes.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Middle;

impl Filter for Middle {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len > 0 {
            let with_notes = [&[0; 16], &*chunk.output_mut(len)].concat();
            chunk.put(&with_notes);
            // SAFETY: the block has 16 bytes more. None: the caller cannot free this. That is the fault.
            *chunk.block = unsafe { chunk.block.byte_add(16) };
            *chunk.block_size = len;
        }
        len
    }
}

plugin!(hdf5: filter::<Middle>(), codec: CODEC);
