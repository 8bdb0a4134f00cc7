//! The lzma codec of numcodecs: strong and slow compression of bytes.
//!
//! # Names
//! numcodecs id `lzma`; in Zarr v3 `numcodecs.lzma`, a name in use but not registered. No HDF5 filter.
//!
//! # Parameters
//! Format, check, preset and filters, with the numbers of Python's module `lzma`. As words: the first three, each
//! 4294967295 for its default, then for each filter its id (1 for LZMA1), a word whose bits say which of its options
//! follow, and these.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_lzma::{Format, Lzma};
//!
//! let json = serde_json::json!({"format": 1, "check": -1, "preset": 9, "filters": null}); // "id": "lzma"
//! let lzma = Lzma::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!((lzma.format, lzma.preset), (Format::Xz, Some(9)));
//! assert_eq!(lzma.to_params()?, [1, u32::MAX, 9]);
//! assert_eq!(Some(&lzma.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The same bytes as of numcodecs, which uses liblzma too. Concatenated xz streams are read as one, as in numcodecs;
//! anything else after a stream is refused, whereas numcodecs ignores it.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod filter;

pub use codec::LzmaCoder;
pub use config::{Check, Format, Lzma};
pub use filter::{Filter, FilterId};

ncz_codec::register!(Lzma);
