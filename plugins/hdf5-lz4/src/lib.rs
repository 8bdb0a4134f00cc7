//! The lz4h5 codec: very fast compression of bytes, in the layout of HDF5's LZ4 filter.
//!
//! # Names
//! HDF5 filter 32004, numcodecs id `imagecodecs_lz4h5` (of the Python package imagecodecs; numcodecs itself has no such
//! codec). No name in Zarr v3. The codec lz4 of numcodecs has another layout.
//!
//! # Parameters
//! One word, the length of a block in bytes, at most 2113929216; 0 or no word means 1 GiB.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_hdf5_lz4::Lz4H5;
//!
//! // {"id": "imagecodecs_lz4h5", ..}
//! let json = serde_json::json!({"level": null, "blocksize": 65536});
//! let lz4 = Lz4H5::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(lz4, Lz4H5 { blocksize: Some(65536) });
//! assert_eq!(lz4.to_params()?, [65536]);
//! assert_eq!(Some(&lz4.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly that of the HDF5 filter, all numbers with the most significant byte first: the length of the
//! data in 8 bytes, that of a block in 4; then for each block its stored length in 4 bytes and an LZ4 block, or the
//! data themselves if they do not shrink. It has no checksum: truncation is always detected, other damage not always.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::Lz4H5Coder;
pub use config::Lz4H5;

ncz_codec::register!(Lz4H5);
