//! Returns the available data of a truncated stream.
use ncz_bad_plugins::tiny::{HEAD, head};
use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

struct Less;

impl Filter for Less {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if chunk.is_decoding()
            && let Some(tiny) = chunk.tiny()
            && let Ok((stated, _)) = head(chunk.input())
            && (1..stated).contains(&(chunk.len - HEAD))
        {
            let mut bytes = chunk.input()[HEAD..].to_vec();
            tiny.mask(&mut bytes);
            return chunk.put(&bytes);
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Less>(), codec: CODEC);
