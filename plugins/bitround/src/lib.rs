//! The bitround codec: rounds numbers to some bits of their mantissa, so that the codec after it compresses better.
//!
//! # Names
//! numcodecs id `bitround`, Zarr v3 name `numcodecs.bitround` (`bitround` is read too). HDF5's filter 32032, BitRound,
//! rounds in the same way but preserves a fill value; it is another codec.
//!
//! # Parameters
//! The bits of the mantissa to keep: at most 10, 23 or 52, as the type has them. As words: the same; it runs with the
//! letters of the type's text after it (`<f4` is 0x34663c).
//!
//! # Example JSON
//! ```
//! use ncz_bitround::BitRound;
//! use ncz_codec::{Codec, CodecConfig, Coder, Dialect};
//!
//! let json = serde_json::json!({"keepbits": 2}); // {"id": "bitround", "keepbits": 2}
//! let bitround = BitRound::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&bitround.to_json(Dialect::ZarrV3)?), json.as_object());
//!
//! let coder = BitRound::coder(&[2, 0x34_663c])?;
//! let mut stream = [0; 4];
//! coder.encode(&mut coder.scratch(), &3.14_f32.to_le_bytes(), &mut stream)?;
//! assert_eq!(f32::from_le_bytes(stream), 3.0);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bits of numcodecs, zarr-python and zarrs: to nearest, ties to even. Two kinds of values are kept unchanged that
//! those programs lose: a NaN whose payload is dropped (numcodecs makes an infinity or minus zero of it), and a
//! finite number that would round to infinity (such fill values are common). Zarr v3 also rounds integers and complex
//! numbers: integers from the highest bit that is set, negative ones by their magnitude; decoding is the same for all.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::BitRoundCoder;
pub use config::BitRound;

ncz_codec::register!(BitRound);
