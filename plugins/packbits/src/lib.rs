//! The packbits codec: eight truth values in a byte.
//!
//! # Names
//! numcodecs id `packbits`; in Zarr v3 `numcodecs.packbits`, a name in use but not registered. The registered `packbits`
//! of Zarr v3 is another codec, which stands in place of `bytes`. There is no HDF5 filter of it.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_packbits::PackBits;
//!
//! let coder = PackBits::coder(&[])?;
//! let mut stream = [0; 3];
//! coder.encode(&mut coder.scratch(), &[1, 0, 0, 0, 0, 0, 0, 1, 1, 1], &mut stream)?;
//! assert_eq!(stream, [6, 0b1000_0001, 0b1100_0000]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python: a byte that counts the bits of padding, and the values from the highest bit
//! of each byte down. numcodecs takes every byte but 0 for true, so that it comes back as 1; here only 0 and 1 are
//! encoded. The stream has no checksum.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::PackBitsCoder;
pub use config::PackBits;

ncz_codec::register!(PackBits);
