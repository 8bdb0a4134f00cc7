//! Returns a block of its own that is not of malloc, which the caller frees.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

/// The block, one for all calls.
static mut BLOCK: [u8; 1 << 16] = [0; 1 << 16];

struct Static;

impl Filter for Static {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if (1..=1 << 16).contains(&len) {
            let old = std::mem::replace(chunk.block, (&raw mut BLOCK).cast());
            // SAFETY: none: nobody may free what takes the place of the old block. That is the fault.
            unsafe {
                (&raw mut BLOCK).cast::<u8>().copy_from(old.cast(), len);
                libc::free(old);
            }
            *chunk.block_size = 1 << 16;
        }
        len
    }
}

plugin!(hdf5: filter::<Static>(), codec: CODEC);
