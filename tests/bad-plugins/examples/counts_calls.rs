//! Puts the number of the call into the stream: the same chunk gives other bytes each time.
use std::sync::atomic::{AtomicU8, Ordering};

use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

static CALLS: AtomicU8 = AtomicU8::new(0);

struct Counts;

impl Filter for Counts {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        if !chunk.is_decoding() {
            let Some(tiny) = chunk.tiny() else { return 0 };
            let mut stream = tiny.encoded(chunk.input());
            let call = CALLS.fetch_add(1, Ordering::Relaxed);
            // twice, so that damage is detected
            stream.extend([call, call]);
            return if chunk.len == 0 { 0 } else { chunk.put(&stream) };
        }
        match chunk.input() {
            [.., first, second] if first == second => chunk.len -= 2,
            _ => return 0,
        }
        chunk.good()
    }
}

plugin!(hdf5: filter::<Counts>(), codec: CODEC);
