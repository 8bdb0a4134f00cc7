//! Prints to standard output in each call.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Prints;

impl Filter for Prints {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let len = chunk.good();
        println!("{len} bytes");
        len
    }
}

plugin!(hdf5: filter::<Prints>(), codec: CODEC);
