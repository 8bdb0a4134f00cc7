//! The packbits codecs: eight truth values in a byte, and in Zarr v3 the bits that count of any numbers.
//!
//! # Names
//! numcodecs id `packbits`; in Zarr v3 `numcodecs.packbits`, a name in use but not registered. The registered
//! `packbits` of Zarr v3 is another codec, [`PackBitsV3`] (`packbits_v3` in messages), which replaces `bytes`. Neither
//! has an HDF5 filter.
//!
//! # Parameters
//! None. For [`PackBitsV3`]: where the count of padding bits in the last byte is written, and the lowest and highest
//! bit to store. As words: 0 not written, 1 in the first byte, 2 in the last; the two bits, 4294967295 for all.
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
//! The bytes of numcodecs and zarr-python: a byte with the number of padding bits, and the values from the highest bit
//! of each byte down. numcodecs treats every byte except 0 as true, which decodes to 1; this codec encodes only 0 and
//! 1. The stream has no checksum.
//!
//! [`PackBitsV3`]: the bytes of zarrs 0.23, values from the lowest bit of each byte up. The specification says that
//! `"padding_encoding": "first_byte"` is numcodecs' form, but numcodecs begins with the highest bit. If numbers are
//! stored whole, zarrs does not write the configured padding byte; this codec does, and reads both. zarrs extends the
//! sign above the highest stored bit only within that byte, so it misreads negative numbers of more bytes; this codec
//! extends it to all bits, as the specification requires. Numbers with other bits set are refused.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod v3;

pub use codec::PackBitsCoder;
pub use config::PackBits;
pub use v3::{PackBitsV3, PackBitsV3Coder, Padding};

ncz_codec::register!(PackBits);
ncz_codec::register!(PackBitsV3);
