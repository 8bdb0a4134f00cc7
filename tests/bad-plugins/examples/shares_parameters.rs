//! Keeps the parameter in one place for all threads while it encodes.
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ncz_bad_plugins::{CODEC, Chunk, Filter, filter, plugin};

static STEP: AtomicU8 = AtomicU8::new(1);

struct Shares;

impl Filter for Shares {
    fn run(chunk: &mut Chunk<'_>) -> usize {
        match chunk.tiny() {
            Some(tiny) if !chunk.is_decoding() => {
                STEP.store(tiny.step, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(50));
                chunk.good_with(&[STEP.load(Ordering::Relaxed).into()])
            }
            _ => chunk.good(),
        }
    }
}

plugin!(hdf5: filter::<Shares>(), codec: CODEC);
