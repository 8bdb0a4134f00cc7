//! Divides by the length, also of an empty chunk.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Divides;

impl Filter for Divides {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() {
            std::hint::black_box(1000 / chunk.len);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Divides>(), codec: CODEC);
