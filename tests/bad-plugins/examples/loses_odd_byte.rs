//! Loses the last byte of a chunk whose length is odd, if the chunk is not quite small.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Loses;

impl Filter for Loses {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() && chunk.len > 100 {
            chunk.len &= !1;
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Loses>(), codec: CODEC);
