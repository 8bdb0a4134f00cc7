//! The szip codec: the entropy coder of CCSDS 121.0-B, for numbers that change slowly.
//!
//! # Names
//! HDF5 filter 4, numcodecs id `szip` (written by netcdf-c; numcodecs itself has no such codec). No name in Zarr v3.
//!
//! # Parameters
//! Two words, `mask` and `pixels-per-block` in JSON, both required: the options ([`option`]: 4 entropy coding, 32
//! nearest neighbour) and an even number from 2 to 32. At work, two follow: bits per pixel, and pixels per scanline,
//! which come from the last dimension of the chunk in HDF5 and from that of the whole array in NCZarr. So the same
//! JSON means other bytes than in HDF5, and for others again once an unlimited last dimension has grown.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_szip::Szip;
//!
//! let json = serde_json::json!({"mask": 32, "pixels-per-block": 8}); // {"id": "szip", ..}
//! let szip = Szip::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(szip, Szip { mask: 32, pixels_per_block: 8 });
//! assert_eq!(szip.to_params()?, [32, 8]);
//! assert_eq!(Some(&szip.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly libaec's, after the length of the data in four bytes, as HDF5 and netcdf-c write it;
//! see [`SzParams`], and [`frame_header`] and [`split_frame`] for the frame. It has no checksum: truncation is always
//! detected, other damage not always.

#![forbid(unsafe_code)]

mod aec;
mod codec;
mod config;
mod error;
mod frame;
mod sz;

pub use codec::SzipCoder;
pub use config::Szip;
pub use error::SzError;
pub use frame::{FRAME_LEN, frame_header, split_frame};
pub use sz::{Scratch, SzParams, option};

ncz_codec::register!(Szip);
