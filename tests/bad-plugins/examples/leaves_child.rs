//! Starts a child process that never ends and holds all files open.
use std::sync::Once;

use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

static FIRST: Once = Once::new();

struct Forks;

impl Filter for Forks {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        FIRST.call_once(|| {
            // SAFETY: the child calls nothing but `pause`, which is allowed between fork and exec.
            if unsafe { libc::fork() } == 0 {
                loop {
                    // SAFETY: takes nothing.
                    unsafe { libc::pause() };
                }
            }
        });
        chunk.good()
    }
}

plugin!(hdf5: filter::<Forks>(), codec: CODEC);
