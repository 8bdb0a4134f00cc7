//! The nbit codec: leaves out the bits that the type of a number does not use.
//!
//! # Names
//! HDF5 filter 5. No name in numcodecs or Zarr v3; numcodecs' `packbits` is another format.
//!
//! # Parameters
//! None are given. The working words describe an element: the number of words, whether all bits are kept (then the data
//! are copied), the elements of a chunk, and a tree of numbers (with their precision and offset), bytes,
//! arrays and compounds. HDF5 makes these words from the type of a dataset, and words that it stored are used
//! unchanged. Types that this program makes itself use all bits, so all are kept.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_nbit::Nbit;
//!
//! // Two numbers of 2 bytes, least significant byte first, which use 12 bits from bit 4 on.
//! let coder = Nbit::coder(&[8, 0, 2, 1, 2, 0, 12, 4])?;
//! let mut stream = [0; 4];
//! assert_eq!(coder.encode(&mut (), &[0x30, 0x12, 0x60, 0x45], &mut stream), Ok(4));
//! assert_eq!(stream, [0x12, 0x34, 0x56, 0]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly that of HDF5's own filter: the bits of each number, the most significant first, and one extra
//! byte if they end at a byte boundary. The stream has no checksum: truncation is always detected, other damage is not.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod tree;

pub use codec::NbitCoder;
pub use config::Nbit;

ncz_codec::register!(Nbit);
