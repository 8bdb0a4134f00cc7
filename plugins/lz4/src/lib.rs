//! The lz4 codec of numcodecs: very fast compression of bytes.
//!
//! # Names
//! numcodecs id `lz4`; in Zarr v3 `numcodecs.lz4`, a name in use but not registered. No HDF5 filter: HDF5's LZ4
//! (32004) has another layout, see the codec lz4h5.
//!
//! # Parameters
//! One word, the acceleration: the greater, the faster and the larger. What is less than 1 counts as 1, which no word
//! means too.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_lz4::Lz4;
//!
//! let json = serde_json::json!({"acceleration": 10}); // {"id": "lz4", "acceleration": 10}
//! let lz4 = Lz4::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(lz4, Lz4 { acceleration: 10 });
//! assert_eq!(lz4.to_params()?, [10]);
//! assert_eq!(Some(&lz4.to_json(Dialect::ZarrV3)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly that of numcodecs: the length of the data in four bytes, least significant byte first,
//! then one LZ4 block. It has no checksum: truncation is always detected, other damage not always. Empty data can
//! be encoded too, which numcodecs cannot decode.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::Lz4Coder;
pub use config::Lz4;

ncz_codec::register!(Lz4);
