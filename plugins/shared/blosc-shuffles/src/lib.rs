//! c-blosc's two shuffles, which pick the machine's vector instructions: what the codecs blosc and blosc2 have in
//! common.
//!
//! ```
//! use ncz_blosc_shuffles::{Direction, shuffle};
//!
//! let mut planes = [0; 6];
//! shuffle(Direction::Forward, 2, b"aAbBcC", &mut planes);
//! assert_eq!(&planes, b"abcABC");
//! ```

mod ffi;

pub use ffi::{bitshuffle, shuffle};

/// The direction of a shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From elements to planes.
    Forward,
    /// From planes to elements.
    Back,
}
