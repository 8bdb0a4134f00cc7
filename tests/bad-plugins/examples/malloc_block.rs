//! Allocates blocks with malloc, though its caller has its own allocator.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Malloc;

impl Filter for Malloc {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len > 0 {
            // SAFETY: any size is allowed; the result is checked.
            let new = unsafe { libc::malloc(len) };
            if new.is_null() {
                return 0;
            }
            // SAFETY: both blocks hold that many bytes, and one of them is new.
            unsafe { new.copy_from_nonoverlapping(*chunk.block, len) };
            chunk.free();
            (*chunk.block, *chunk.block_size) = (new, len);
        }
        len
    }
}

plugin!(hdf5: filter::<Malloc>(), codec: CODEC);
