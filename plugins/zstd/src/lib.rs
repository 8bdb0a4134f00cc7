//! The zstd codec: general-purpose compression of bytes.
//!
//! # Names
//! HDF5 filter 32015, numcodecs id `zstd`, Zarr v3 name `zstd`.
//!
//! # Parameters
//! One word, the level: -131072 (fastest) to 22, negative ones in two's complement, 0 for the library's default
//! (3). No word means 3. One word is always written, because netcdf-c requires exactly one.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_zstd::Zstd;
//!
//! let v2 = serde_json::json!({"level": -5}); // {"id": "zstd", "level": -5}
//! let v3 = serde_json::json!({"level": -5, "checksum": false}); // "name": "zstd", "configuration": ..
//! let mut notes = Vec::new();
//! for (dialect, json) in [(Dialect::Numcodecs, v2), (Dialect::ZarrV3, v3)] {
//!     let zstd = Zstd::from_json(dialect, json.as_object().unwrap(), &mut notes)?;
//!     assert_eq!(zstd, Zstd { level: -5, checksum: false });
//!     assert_eq!(zstd.to_params()?, [4294967291]);
//!     assert_eq!(Some(&zstd.to_json(dialect)?), json.as_object());
//! }
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is one zstd frame with its content size, as in the HDF5 filter and numcodecs. The bytes are the same with
//! the same version of libzstd, and mostly with other versions. Several frames, skippable ones and frames
//! without content size are read too. Damage is detected reliably only in frames with a checksum (`"checksum": true`),
//! which the HDF5 filter does not write.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::ZstdCoder;
pub use config::Zstd;

ncz_codec::register!(Zstd);
