//! On failure it frees the caller's block, which the caller then frees again.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Frees;

impl Filter for Frees {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if len == 0 {
            // SAFETY: none: the caller goes on to use the block. That is the fault.
            unsafe { libc::free(*chunk.block) };
        }
        len
    }
}

plugin!(hdf5: filter::<Frees>(), codec: CODEC);
