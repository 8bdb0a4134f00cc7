//! The pcodec codec of numcodecs: strong and fast lossless compression of numbers.
//!
//! # Names
//! numcodecs id `pcodec`; in Zarr v3 `numcodecs.pcodec`, a name in use but not registered. No HDF5 filter.
//!
//! # Parameters
//! Level, mode, differences and their order, and how many numbers a page holds, each one word; then, in the working
//! words, the type of the numbers as Pco numbers it.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_pcodec::Pcodec;
//!
//! let json = serde_json::json!({
//!     "level": 10, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
//!     "delta_encoding_order": null, "equal_pages_up_to": 262144
//! }); // "id": "pcodec"
//! let pcodec = Pcodec::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(pcodec, Pcodec { level: 10, ..Pcodec::default() });
//! assert_eq!(pcodec.to_params()?, [10, 0, 0, u32::MAX, 262144]);
//! assert_eq!(Some(&pcodec.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! Standalone streams of Pco, as the Python package pcodec makes them for numcodecs: the same bytes as of its version
//! 1.1, and numcodecs 0.16 with pcodec 0.3 reads them. (Lookback is not used for a page of one number: pcodec 0.3
//! cannot read that, not even from itself.)

#![forbid(unsafe_code)]

mod codec;
mod config;
mod guard;
mod numbers;

pub use codec::PcodecCoder;
pub use config::{Delta, Mode, Pcodec};

ncz_codec::register!(Pcodec);
