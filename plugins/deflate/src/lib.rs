//! The deflate codec: compression in the zlib format.
//!
//! # Names
//! HDF5 filter 1, numcodecs id `zlib`; in Zarr v3 `numcodecs.zlib`, a name in use but not registered.
//!
//! # Parameters
//! One word, the level: 0 (stored only) to 9 (smallest). In JSON a missing level means 1, as in numcodecs, and -1
//! means 6, as in zlib.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_deflate::Deflate;
//!
//! let json = serde_json::json!({"level": 4}); // {"id": "zlib", "level": 4}
//! let deflate = Deflate::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(deflate, Deflate { level: 4 });
//! assert_eq!(deflate.to_params()?, [4]);
//! assert_eq!(Some(&deflate.to_json(Dialect::ZarrV3)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! One zlib stream (RFC 1950), as in the HDF5 filter and numcodecs; each reads the streams of the others. The bytes
//! differ from zlib's: libdeflate packs a little better at the same level and works faster. The stream ends with a
//! checksum, so damage is always detected.

mod codec;
mod config;

pub use codec::DeflateCoder;
pub use config::Deflate;

ncz_codec::register!(Deflate);
