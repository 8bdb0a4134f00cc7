//! The adler32 codec: a checksum before the data, to see damage.
//!
//! # Names
//! numcodecs id `adler32`; in Zarr v3 `numcodecs.adler32`, a name in use but not registered. It has no HDF5
//! filter.
//!
//! # Parameters
//! The location of the checksum: before or after the data. As words: none or 0, or 1.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_adler32::Adler32;
//!
//! let coder = Adler32::coder(&[])?;
//! let mut stream = [0; 13];
//! coder.encode(&mut coder.scratch(), b"123456789", &mut stream)?;
//! assert_eq!(stream, *b"\xde\x01\x1e\x09123456789");
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python: the Adler-32 (RFC 1950) in four bytes, least significant byte first, and the
//! data. Adler-32 is weak for short data: use crc32c if you can choose.

#![forbid(unsafe_code)]

mod codec;

pub use codec::{Adler32, Adler32Coder, Sum};
pub use ncz_checksum::Location;

ncz_codec::register!(Adler32);
