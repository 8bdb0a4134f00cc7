//! Writes to standard error in each good call.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Complains;

impl Filter for Complains {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        eprintln!("{len} bytes");
        len
    }
}

plugin!(hdf5: filter::<Complains>(), codec: CODEC);
