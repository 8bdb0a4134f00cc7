//! What its native face writes its HDF5 face does not read.
use ncz_bad_plugins::{CODEC, FILTER, Tiny, Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Repr};

#[derive(Debug, Clone, Copy)]
struct Differs;

impl Twist for Differs {
    fn bind(bound: &mut Bound<Twisted<Self>>, _: &Repr) {
        bound.coder.tiny = Self::coder(bound.coder.tiny);
    }

    fn coder(good: Tiny) -> Tiny {
        Tiny { level: good.level % 255 + 1 }
    }
}

plugin!(hdf5: FILTER, codec: CODEC, native: twisted::<Differs>());
