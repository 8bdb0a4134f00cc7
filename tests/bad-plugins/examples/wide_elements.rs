//! Elements of 16 bytes come back wrong.
use ncz_bad_plugins::{Tiny, Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Dtype, Repr};

#[derive(Debug, Clone, Copy)]
struct Wide;

impl Twist for Wide {
    fn bind(bound: &mut Bound<Twisted<Self>>, input: &Repr) {
        if let Repr::Array { dtype: Dtype { size: 16, .. }, .. } = input {
            bound.output = Repr::Bytes { size: ncz_codec::Size::Unknown };
            bound.coder = Tiny { step: 0 };
        }
    }
}

plugin!(native: twisted::<Wide>());
