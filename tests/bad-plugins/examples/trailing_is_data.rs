//! Takes what follows a stream for more of it.
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Takes;

impl Filter for Takes {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding()
            && let Some(tiny) = chunk.tiny()
            && let Ok((stated, _)) = head(chunk.input())
            && stated > 0
            && chunk.len > stated + HEAD
        {
            let mut bytes = chunk.input()[HEAD..].to_vec();
            tiny.mask(&mut bytes);
            return chunk.put(&bytes);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Takes>(), codec: CODEC);
