//! The blosc2 codec: shuffling and fast compression in blocks of several dimensions, as HDF5's Blosc2 filter has it.
//!
//! # Names
//! HDF5 filter 32026. No JSON: neither numcodecs nor Zarr v3 has a name for these frames, and the `imagecodecs_blosc2`
//! of the Python package imagecodecs is a single chunk without a frame.
//!
//! # Parameters
//! As given, up to seven words: three reserved ones (0), the size of a block among them, then the level, the filter and
//! the compressor. At work, the first is the filter's revision (1), the third the size of an element, the fourth that
//! of a chunk in bytes; with 2 to 16 dimensions their number and the lengths of a chunk follow.
//!
//! | word | values | when missing |
//! | --- | --- | --- |
//! | 1 | the size of a block in bytes, 0 for automatic | 0 |
//! | 4 | the level: 0 (copy) to 9 | 5 |
//! | 5 | 0 none, 1 shuffle by bytes, 2 shuffle by bits, 3 difference to the first block | 1 |
//! | 6 | 0 blosclz, 1 lz4, 2 lz4hc, 4 zlib, 5 zstd | 0 |
//!
//! # Example
//! ```
//! use ncz_blosc2::{Blosc2, Compressor};
//! use ncz_codec::{Codec, CodecConfig, Container, Dtype, Env, Kind};
//!
//! let blosc2 = Blosc2::from_params(&[0, 0, 0, 0, 5, 1, 5])?;
//! assert_eq!(blosc2.cname, Compressor::Zstd);
//! let env = Env {
//!     dtype: Dtype::little(Kind::Float, 4),
//!     array_shape: vec![1000, 777],
//!     chunk_shape: vec![64, 48],
//!     container: Container::Hdf5,
//! };
//! assert_eq!(blosc2.bind(&env.chunk(), &env)?.working, [1, 0, 4, 12288, 5, 1, 5, 2, 64, 48]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The frames of C-Blosc2, as the HDF5 filter writes and reads them: one chunk, and for 2 to 16 dimensions the
//! description of an array (b2nd). This crate reads and writes the frames; the libraries that other codecs use
//! compress the blocks in them. Chunks that need a plugin of C-Blosc2 are refused by name. A frame states all its
//! lengths but has no checksum: truncation is always detected, other damage not always.

mod blosclz;
mod chunk;
mod codec;
mod config;
mod delta;
mod frame;
mod grid;
mod header;

pub use codec::{Blosc2Coder, Blosc2Scratch};
pub use config::{Blosc2, Compressor, Filter};

ncz_codec::register!(Blosc2);
