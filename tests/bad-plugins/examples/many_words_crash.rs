//! Copies its words to an array of four.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Copies;

impl Filter for Copies {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let mut words = [0; 4];
        words[..chunk.word_count].copy_from_slice(chunk.given());
        std::hint::black_box(words);
        chunk.good()
    }
}

plugin!(hdf5: filter::<Copies>(), codec: CODEC);
