//! The bzip2 codec: strong and slow compression of bytes.
//!
//! # Names
//! HDF5 filter 307, numcodecs id `bz2`; in Zarr v3 `numcodecs.bz2`, a name in use but not registered.
//!
//! # Parameters
//! One word, the block size in units of 100 kB: 1 to 9. No word means 9, as in the HDF5 filter; in JSON a missing
//! `level` means 1, as in numcodecs.
//!
//! # Example JSON
//! ```
//! use ncz_bzip2::Bzip2;
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//!
//! let json = serde_json::json!({"level": 9}); // {"id": "bz2", "level": 9}
//! let bzip2 = Bzip2::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(bzip2, Bzip2 { level: 9 });
//! assert_eq!(bzip2.to_params()?, [9]);
//! assert_eq!(Some(&bzip2.to_json(Dialect::ZarrV3)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! One bzip2 stream, the same bytes as the HDF5 filter and numcodecs write. Concatenated streams are read as one, as
//! in numcodecs. Each block carries a checksum, so damage is always detected.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::Bzip2Coder;
pub use config::Bzip2;

ncz_codec::register!(Bzip2);
