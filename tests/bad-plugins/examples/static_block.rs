//! Returns a static block, which the caller frees.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

/// The block, one for all calls.
static mut BLOCK: [u8; 1 << 16] = [0; 1 << 16];

struct Static;

impl Filter for Static {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if (1..=1 << 16).contains(&len) {
            // SAFETY: both hold that many bytes. Not safe: other threads can write there too.
            unsafe { (&raw mut BLOCK).cast::<u8>().copy_from(chunk.block.cast(), len) };
            chunk.free();
            (*chunk.block, *chunk.block_size) = ((&raw mut BLOCK).cast(), 1 << 16);
        }
        len
    }
}

plugin!(hdf5: filter::<Static>(), codec: CODEC);
