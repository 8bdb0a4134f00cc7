//! With one of its 255 parameters larger chunks lose a byte.
use ncz_bad_plugins::{Tiny, Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Repr};

#[derive(Debug, Clone, Copy)]
struct Breaks;

impl Twist for Breaks {
    fn bind(bound: &mut Bound<Twisted<Self>>, input: &Repr) {
        if let Repr::Array { shape, .. } = input {
            let is_large = shape.iter().product::<u64>() > 256;
            bound.coder.lost = usize::from(is_large && bound.stored.0 == Tiny { level: 4 });
        }
    }
}

plugin!(native: twisted::<Breaks>());
