//! The codecs zfp and zfpy: lossy or lossless compression of fields of numbers in up to four dimensions.
//!
//! # Names
//! [`Zfp`]: HDF5 filter 32013 (H5Z-ZFP), Zarr v3 name `zfp`; numcodecs has no such codec. [`Zfpy`]: numcodecs id
//! `zfpy`, in Zarr v3 `numcodecs.zfpy`, a name in use but not registered.
//!
//! # Parameters
//! Words as H5Z-ZFP takes them: the mode, a zero, and what the mode needs; doubles in two words, low word first. None
//! means the library's widest limits, close to no loss. HDF5 stores other words: versions, then the header of a zfp
//! stream.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_zfp::{Mode, Zfp};
//!
//! let json = serde_json::json!({"mode": "fixed_accuracy", "tolerance": 0.05}); // "name": "zfp", "configuration": ..
//! let zfp = Zfp::from_json(Dialect::ZarrV3, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(zfp, Zfp { mode: Mode::Accuracy(0.05) });
//! assert_eq!(zfp.to_params()?, [3, 0, 2576980378, 1068079513]);
//! assert_eq!(Some(&zfp.to_json(Dialect::ZarrV3)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The streams of zfp 0.5 to 1.0 (codec version 5), bit by bit: HDF5's end with the last byte and have their header in
//! the filter's words, numcodecs' end with a word of eight bytes and have it in front, those of `zfp` in Zarr v3 have
//! none. In Zarr v3 integers of one and two bytes are taken as larger ones of four, as zarrs does.

#![forbid(unsafe_code)]

mod blocks;
mod codec;
mod config;
mod field;
mod mode;
mod number;
mod small;
mod zfpy;

pub use codec::{ZfpCoder, ZfpScratch};
pub use config::Zfp;
pub use mode::Mode;
pub use zfpy::Zfpy;

ncz_codec::register!(Zfp);
ncz_codec::register!(Zfpy);
