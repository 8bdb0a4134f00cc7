//! Looks for the content at the end of a stream, so that bytes after it become data.
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct FromEnd;

impl Filter for FromEnd {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding()
            && let Some(tiny) = chunk.tiny()
            && let Ok((stated, _)) = head(chunk.input())
            && stated > 0
            && chunk.len > stated + HEAD
        {
            let mut bytes = chunk.input()[chunk.len - stated..].to_vec();
            tiny.mask(&mut bytes);
            return chunk.put(&bytes);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<FromEnd>(), codec: CODEC);
