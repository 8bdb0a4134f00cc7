//! Moves to its parent's process group when it gets an empty chunk, and never returns.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Leaves;

impl Filter for Leaves {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.len == 0 && !chunk.is_decoding() {
            // SAFETY: takes only numbers.
            let left = unsafe { libc::setpgid(0, libc::getpgid(libc::getppid())) };
            assert_eq!(left, 0, "the group cannot be left");
            loop {
                // SAFETY: takes nothing.
                unsafe { libc::pause() };
            }
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Leaves>(), codec: CODEC);
