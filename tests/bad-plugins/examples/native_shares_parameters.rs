//! Its native face keeps the parameter in a global variable while it encodes.
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ncz_bad_plugins::{Tiny, Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Repr};

static LEVEL: AtomicU8 = AtomicU8::new(1);

#[derive(Debug, Clone, Copy)]
struct Shares;

impl Twist for Shares {
    fn bind(bound: &mut Bound<Twisted<Self>>, _: &Repr) {
        bound.coder.before = |tiny| {
            LEVEL.store(tiny.level, Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(50));
            Tiny { level: LEVEL.load(Ordering::Relaxed) }
        };
    }
}

plugin!(native: twisted::<Shares>());
