//! Refuses chunks that do not shrink, though netcdf-c then loses the variable.
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Refuses;

impl Filter for Refuses {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() && is_random(chunk.input()) {
            return 0;
        }
        chunk.good()
    }
}

/// Every value about as often as every other.
fn is_random(bytes: &[u8]) -> bool {
    let mut counts = [0_usize; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    bytes.len() >= 1024 && counts.iter().all(|count| *count < bytes.len() / 64)
}

plugin!(hdf5: filter::<Refuses>(), codec: CODEC);
