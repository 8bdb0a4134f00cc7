//! The packbits codecs: eight truth values in a byte, and in Zarr v3 the bits that count of any numbers.
//!
//! # Names
//! numcodecs id `packbits`; in Zarr v3 `numcodecs.packbits`, a name in use but not registered. The registered
//! `packbits`
//! of Zarr v3 is another codec, [`PackBitsV3`] (`packbits_v3` to people), which stands in place of `bytes`. There is no
//! HDF5
//! filter of either.
//!
//! # Parameters
//! None. Of [`PackBitsV3`]: where the count of the bits that fill the last byte up is written, and the lowest and
//! highest
//! bit that are stored. As words: 0 nowhere, 1 in the first byte, 2 in the last; the two bits, 4294967295 for all.
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
//!
//! [`PackBitsV3`]: the bytes of zarrs 0.23, values from the lowest bit of each byte up. The specification says that
//! `"padding_encoding": "first_byte"` is numcodecs' form, but numcodecs begins with the highest bit. Where numbers are
//! stored whole, zarrs writes no byte for the padding, whatever is configured; we do, and read both. zarrs fills bits
//! above the highest that is stored up to the end of their byte only, so that it reads negative numbers of more bytes
//! as
//! others; here all are filled up, as the specification wants. Numbers of which other bits are set are refused.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod v3;

pub use codec::PackBitsCoder;
pub use config::PackBits;
pub use v3::{PackBitsV3, PackBitsV3Coder, Padding};

ncz_codec::register!(PackBits);
ncz_codec::register!(PackBitsV3);
