//! The my-delta8 codec: each byte as the difference to the one `distance` bytes before it.
//!
//! # Names
//! HDF5 filter 32801 (32768 to 65534 are for tests; The HDF Group registers ids), numcodecs id `my-delta8`,
//! Zarr v3 name `example.my-delta8`.
//!
//! # Parameters
//! One word, the distance: 1 to 255 bytes. No word means 1. One word is always written.
//!
//! # Example JSON
//! ```
//! use my_delta8::Delta8;
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//!
//! let json = serde_json::json!({"distance": 4}); // {"id": "my-delta8", "distance": 4}
//! let mut notes = Vec::new();
//! let delta = Delta8::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut notes)?;
//! assert_eq!(delta.to_params()?, [4]);
//! assert_eq!(Some(&delta.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Stream
//! The length of the data in 8 bytes, low byte first, then the differences. A stream that is cut or followed by other
//! bytes is refused. There is no checksum: a flipped bit decodes to other data.
//!
//! # Compatible implementations
//! `c/my_cdelta8.c`, the same in C under other names.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::Delta8Coder;
pub use config::Delta8;

ncz_codec::register!(Delta8);
