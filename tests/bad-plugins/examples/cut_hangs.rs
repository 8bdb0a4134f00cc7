//! Waits for the rest of a head that was cut.
use ncz_bad_plugins::tiny::{HEAD, MAGIC};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Waits;

impl Filter for Waits {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        while chunk.is_decoding() && chunk.len < HEAD && chunk.input().starts_with(&MAGIC) {
            std::hint::spin_loop();
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Waits>(), codec: CODEC);
