//! Without words it encodes with another parameter than it decodes with.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Two;

impl Filter for Two {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        match chunk.word_count {
            0 if !chunk.is_decoding() => chunk.good_with(&[7]),
            _ => chunk.good(),
        }
    }
}

plugin!(hdf5: filter::<Two>(), codec: CODEC);
