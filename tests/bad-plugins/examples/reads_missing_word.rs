//! Reads its first word without a check that there is one.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Reads;

impl Filter for Reads {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        // SAFETY: not safe: there may be no word. That is the fault.
        let level = unsafe { chunk.words.read_volatile() };
        if chunk.word_count == 0 { chunk.good_with(&[level.clamp(1, 255)]) } else { chunk.good() }
    }
}

plugin!(hdf5: filter::<Reads>(), codec: CODEC);
