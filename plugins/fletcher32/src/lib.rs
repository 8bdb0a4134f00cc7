//! The fletcher32 codec: a checksum after the data, to see damage.
//!
//! # Names
//! HDF5 filter 3, numcodecs id `fletcher32`; in Zarr v3 `numcodecs.fletcher32`, a name in use but not registered.
//!
//! # Parameters
//! None. The configuration in JSON is empty: `{"id": "fletcher32"}`.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_fletcher32::Fletcher32;
//!
//! let coder = Fletcher32::coder(&[])?;
//! let mut stream = [0; 9];
//! coder.encode(&mut coder.scratch(), b"abcde", &mut stream)?;
//! assert_eq!(stream, *b"abcde\xc7\x29\xf0\x4f");
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of HDF5 and of numcodecs: the data, then the Fletcher-32 sum of their 16-bit words, most significant
//! byte first, in four bytes, least significant byte first. Sums with the bytes of each 16-bit half swapped, which HDF5
//! before 1.6.3 wrote, are accepted too, as HDF5 does.

#![forbid(unsafe_code)]

mod codec;
mod sum;

pub use codec::{Fletcher, Fletcher32, Fletcher32Coder};

ncz_codec::register!(Fletcher32);
