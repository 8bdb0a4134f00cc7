//! Larger chunks with elements of 16 bytes lose a byte.
use ncz_bad_plugins::{Twist, Twisted, plugin, twisted};
use ncz_codec::{Bound, Dtype, Repr};

#[derive(Debug, Clone, Copy)]
struct Wide;

impl Twist for Wide {
    fn bind(bound: &mut Bound<Twisted<Self>>, input: &Repr) {
        if let Repr::Array { dtype: Dtype { size: 16, .. }, shape, .. } = input {
            bound.coder.lost = usize::from(shape.iter().product::<u64>() > 256);
        }
    }
}

plugin!(native: twisted::<Wide>());
