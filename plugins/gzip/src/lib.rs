//! The gzip codec: compression in the gzip format.
//!
//! # Names
//! numcodecs id `gzip`, Zarr v3 name `gzip`. It has no HDF5 filter: "gzip" in HDF5 is deflate.
//!
//! # Parameters
//! One word, the level: 0 (stored only) to 9 (smallest). In JSON a missing level means 1 to numcodecs and 5 to
//! zarr-python's Zarr v3, and in numcodecs -1 means 6, as in zlib.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_gzip::Gzip;
//!
//! let json = serde_json::json!({"level": 5}); // {"id": "gzip", ..}, {"name": "gzip", "configuration": ..}
//! for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
//!     let gzip = Gzip::from_json(dialect, json.as_object().unwrap(), &mut Vec::new())?;
//!     assert_eq!(gzip, Gzip { level: 5 });
//!     assert_eq!(Some(&gzip.to_json(dialect)?), json.as_object());
//! }
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! One gzip member (RFC 1952) without a name or a time, so that the same data give the same bytes; numcodecs,
//! zarr-python and tensorstore read it. Concatenated members are read as one stream, as in numcodecs, and every header
//! field is supported. Zeros after the last member, which numcodecs skips, are refused. Each
//! member ends with a checksum and its length, so damage is always detected.

mod codec;
mod config;
mod header;

pub use codec::GzipCoder;
pub use config::Gzip;

ncz_codec::register!(Gzip);
