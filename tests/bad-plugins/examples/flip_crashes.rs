//! Ends the process when the checksum does not match.
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Asserts;

impl Filter for Asserts {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        let is_whole = head(chunk.input()).is_ok_and(|(stated, _)| stated + HEAD == chunk.len);
        let is_good = chunk.is_decoding() && is_whole && chunk.tiny().is_some();
        let len = chunk.good();
        assert!(!is_good || len > 0, "the checksum does not match");
        len
    }
}

plugin!(hdf5: filter::<Asserts>(), codec: CODEC);
