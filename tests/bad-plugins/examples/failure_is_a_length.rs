//! Returns -1 on failure, which passes for a length.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Minus;

impl Filter for Minus {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        match chunk.good() {
            0 => usize::MAX,
            len => len,
        }
    }
}

plugin!(hdf5: filter::<Minus>(), codec: CODEC);
