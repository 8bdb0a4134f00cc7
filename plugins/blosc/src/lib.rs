//! The blosc codec (Blosc 1): shuffling and fast compression in one.
//!
//! # Names
//! HDF5 filter 32001, numcodecs id `blosc`, Zarr v3 name `blosc`.
//!
//! # Parameters
//! As given, up to seven words: three reserved ones (0), the block size, the level, the shuffle and the compressor.
//! At work, the first four are the filter's revision (2), the format's version (2), the size of an element and that
//! of a chunk in bytes. HDF5 is given no more words than the user gave, but at least four.
//!
//! | word, key | values | when missing |
//! | --- | --- | --- |
//! | 3, `blocksize` | bytes, 0 for automatic | 0 |
//! | 4, `clevel` | 0 (copy) to 9 | 5 |
//! | 5, `shuffle` | 0 none, 1 byte, 2 bit, -1 bit for elements of one byte and byte for others | 1 |
//! | 6, `cname` | 0 `blosclz`, 1 `lz4`, 2 `lz4hc`, 3 `snappy`, 4 `zlib`, 5 `zstd` | `blosclz` in words, `lz4` in JSON |
//!
//! In Zarr v3 `shuffle` is `"noshuffle"`, `"shuffle"` or `"bitshuffle"`, and `typesize` is the size of an element.
//!
//! # Example JSON
//! ```
//! use ncz_blosc::{Blosc, Compressor, Shuffle};
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//!
//! // {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}
//! let json = serde_json::json!({"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0});
//! let blosc = Blosc::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!((blosc.cname, blosc.shuffle), (Compressor::Zstd, Shuffle::Byte));
//! assert_eq!(blosc.to_params()?, [0, 0, 0, 0, 5, 1, 5]);
//! assert_eq!(Some(&blosc.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The frames of c-blosc 1, as in the HDF5 filter and in numcodecs. Data that do not shrink become a frame that holds
//! a copy. The frame states its lengths but has no checksum: truncation is always detected, other damage not always.

mod codec;
mod compressor;
mod config;
mod ffi;
mod header;
mod snappy;

pub use codec::{BloscCoder, BloscScratch};
pub use compressor::Compressor;
pub use config::{Blosc, Shuffle};

ncz_codec::register!(Blosc);
