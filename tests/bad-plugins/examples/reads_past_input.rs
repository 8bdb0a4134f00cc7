//! Believes the length in the stream and reads after a stream that was cut.
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Believes;

impl Filter for Believes {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding()
            && let Ok((stated, _)) = head(chunk.input())
            && let Some(more) = (stated + HEAD).checked_sub(chunk.len)
            && (1..=64).contains(&more)
        {
            // Not safe: there may not be that many bytes. That is the fault.
            return match chunk.tiny().and_then(|tiny| tiny.decoded(chunk.input_and(more))) {
                Some(bytes) => chunk.put(&bytes),
                None => 0,
            };
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Believes>(), codec: CODEC);
