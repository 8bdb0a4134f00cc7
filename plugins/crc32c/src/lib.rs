//! The crc32c codec: a checksum after the data, to see damage.
//!
//! # Names
//! numcodecs id `crc32c`, Zarr v3 name `crc32c`. It has no HDF5 filter.
//!
//! # Parameters
//! The location of the checksum: after the data, or (numcodecs only) before them. As words: none or 0, or 1.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_crc32c::Crc32c;
//!
//! let coder = Crc32c::coder(&[])?;
//! let mut stream = [0; 13];
//! coder.encode(&mut coder.scratch(), b"123456789", &mut stream)?;
//! assert_eq!(stream, *b"123456789\x83\x92\x06\xe3");
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs, zarr-python and tensorstore: the data and the CRC-32C (Castagnoli, RFC 3720) in four bytes,
//! least significant byte first.

#![forbid(unsafe_code)]

mod codec;

pub use codec::{Crc32c, Crc32cCoder, Location, Sum};

ncz_codec::register!(Crc32c);
