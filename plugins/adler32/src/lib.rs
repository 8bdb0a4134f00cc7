//! The adler32 codec: a checksum before the data, to see damage.
//!
//! # Names
//! numcodecs id `adler32`; in Zarr v3 `numcodecs.adler32`, a name in use but not registered. There is no HDF5 filter of
//! it.
//!
//! # Parameters
//! Where the checksum lies: before the data, or after them. As words: none or 0, or 1.
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
//! data. Adler-32 says little of short data: use crc32c where there is a choice.

#![forbid(unsafe_code)]

mod codec;

pub use codec::{Adler32, Adler32Coder, Sum};
pub use ncz_checksum::Location;

ncz_codec::register!(Adler32);
