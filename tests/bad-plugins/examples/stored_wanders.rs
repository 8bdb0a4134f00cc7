//! Its stored configuration changes when it is stored again: copies of a dataset differ each time.
use ncz_bad_plugins::{Tiny, Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Repr};

#[derive(Debug, Clone, Copy)]
struct Wanders;

impl Twist for Wanders {
    fn bind(bound: &mut Bound<Twisted<Self>>, _: &Repr) {
        let Tiny { level } = bound.stored.0;
        bound.stored.0 = Tiny { level: level % 255 + 1 };
    }
}

plugin!(native: twisted::<Wanders>());
