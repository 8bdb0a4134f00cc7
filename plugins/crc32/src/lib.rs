//! The crc32 codec: a checksum before the data, to see damage.
//!
//! # Names
//! numcodecs id `crc32`; in Zarr v3 `numcodecs.crc32`, a name in use but not registered. It has no HDF5 filter.
//!
//! # Parameters
//! The location of the checksum: before or after the data. As words: none or 0, or 1.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_crc32::Crc32;
//!
//! let coder = Crc32::coder(&[])?;
//! let mut stream = [0; 13];
//! coder.encode(&mut coder.scratch(), b"123456789", &mut stream)?;
//! assert_eq!(stream, *b"\x26\x39\xf4\xcb123456789");
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python: the CRC-32 (that of zlib, gzip and zip) in four bytes, least significant
//! byte first, and the data.

#![forbid(unsafe_code)]

mod codec;

pub use codec::{Crc32, Crc32Coder, Sum};
pub use ncz_checksum::Location;

ncz_codec::register!(Crc32);
