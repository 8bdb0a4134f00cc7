//! Allocates as much memory as a stream states.
use ncz_bad_plugins::tiny::head;
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Believes;

impl Filter for Believes {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding()
            && let Ok((stated, _)) = head(chunk.input())
        {
            std::hint::black_box(Vec::<u8>::with_capacity(stated));
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Believes>(), codec: CODEC);
