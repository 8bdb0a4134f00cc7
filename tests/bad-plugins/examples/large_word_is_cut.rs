//! Accepts words that are out of range, and interprets them differently in encoding and decoding.
use ncz_bad_plugins::tiny::HEAD;
use ncz_bad_plugins::{CODEC, Chunk, Filter, Tiny, filter, plugin};

struct Cuts;

impl Filter for Cuts {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let [word @ 256..=u32::MAX] = *chunk.given() else { return chunk.good() };
        if !chunk.is_decoding() {
            return chunk.good_with(&[255]);
        }
        let mut bytes = chunk.input().get(HEAD..).unwrap_or_default().to_vec();
        Tiny { level: (word % 255) as u8 }.mask(&mut bytes);
        chunk.put(&bytes)
    }
}

plugin!(hdf5: filter::<Cuts>(), codec: CODEC);
