//! Changes to inputs.

pub mod bytes;
pub mod json;
pub mod text;

use fastrand::Rng;

/// One of several.
fn any<'a, T: ?Sized>(of: &[&'a T], rng: &mut Rng) -> &'a T {
    of[rng.usize(..of.len())]
}
