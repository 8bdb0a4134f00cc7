//! With one of its 255 parameters the data come back wrong.
use ncz_bad_plugins::{CODEC, Chunk, Filter, Tiny, filter, plugin};

struct Breaks;

impl Filter for Breaks {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        if chunk.is_decoding() && chunk.tiny() == Some(Tiny { step: 255 }) && len > 0 {
            chunk.output_mut(len)[0] ^= 1;
        }
        len
    }
}

plugin!(hdf5: filter::<Breaks>(), codec: CODEC);
