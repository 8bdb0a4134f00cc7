//! Divides by one less than the length.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Divides;

impl Filter for Divides {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() {
            let share = 1000 / (chunk.len - 1);
            std::hint::black_box(share);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Divides>(), codec: CODEC);
