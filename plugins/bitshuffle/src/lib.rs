//! The bitshuffle codec: sorts the bits of the elements, which then compress better, and can compress them itself.
//!
//! # Names
//! HDF5 filter 32008. Without a compressor it is numcodecs' `imagecodecs_bitshuffle` (of the Python package
//! imagecodecs; numcodecs itself has no such codec). No name in Zarr v3, and none for bitshuffle with a compressor.
//!
//! # Parameters
//! Up to three words: the elements of a block, a multiple of 8 (0, the default: as many as fit in 8192 bytes, at least
//! 128); the compressor, 0 none, 2 LZ4, 3 Zstandard; the level of Zstandard, negative ones in two's complement (default
//! 3). The working words have three words before them: 0 and 4, a version, and the size of an element. In JSON
//! `itemsize` is the size of an element (default 1, as in imagecodecs) and `blocksize` the first word. This JSON is
//! written only on request: with imagecodecs 2026.3, zarr-python encodes with the size of the elements and decodes with
//! a size of 1, whatever `itemsize` is. A size that is not that of the elements is refused.
//!
//! # Example JSON
//! ```
//! use ncz_bitshuffle::{Bitshuffle, Compression};
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//!
//! let json = serde_json::json!({"itemsize": 4, "blocksize": 0}); // {"id": "imagecodecs_bitshuffle", ..}
//! let bits = Bitshuffle::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(bits, Bitshuffle { itemsize: Some(4), ..Bitshuffle::default() });
//! assert_eq!(Some(&bits.to_json(Dialect::Numcodecs)?), json.as_object());
//! assert_eq!(Bitshuffle::from_params(&[0, 2])?.compression, Compression::Lz4);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly that of the bitshuffle library. Without a compressor it is as long as the data. With one
//! it is a header of 12 bytes (the length of the data in 8 bytes, that of a block in 4, most significant byte first),
//! then for each block its stored length in 4 bytes and an LZ4 block or a Zstandard frame. Elements after the last
//! eight are copied. It has no checksum: truncation is always detected if there is a compressor, other damage not
//! always.

mod bits;
mod codec;
mod config;
mod ffi;

pub use codec::{BitshuffleCoder, BitshuffleScratch, Compression};
pub use config::Bitshuffle;

ncz_codec::register!(Bitshuffle);
