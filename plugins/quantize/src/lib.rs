//! The quantize codec: rounds numbers so that some decimal digits hold, in binary, so that the codec after it
//! compresses better.
//!
//! # Names
//! numcodecs id `quantize`; in Zarr v3 `numcodecs.quantize`, a name in use but not registered. It has no HDF5 filter.
//! The quantize of netCDF (BitGroom, BitRound) is different.
//!
//! # Parameters
//! The number of digits after the decimal point to keep (negative: before it), the type of the data, and the stored
//! type, which defaults to the same. In Zarr v3 the type of the data may be missing, as in
//! zarr-python. As words: the digits, and the letters of each type's text, the first in the lowest byte; `<f4` is
//! 0x34663c.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Coder, Dialect};
//! use ncz_quantize::Quantize;
//!
//! let json = serde_json::json!({"digits": 1, "dtype": "<f4", "astype": "<f4"});
//! let quantize = Quantize::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&quantize.to_json(Dialect::Numcodecs)?), json.as_object());
//!
//! let coder = Quantize::coder(&quantize.to_params()?)?;
//! let mut stream = [0; 4];
//! coder.encode(&mut coder.scratch(), &3.14_f32.to_le_bytes(), &mut stream)?;
//! assert_eq!(f32::from_le_bytes(stream), 3.125); // in sixteenths
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bits of numcodecs and zarr-python: the number is multiplied by the least power of two that is at least
//! 10^digits, rounded to the nearest integer, ties to even, and divided again, all in the type of the data. A finite
//! number for which that overflows is kept unchanged (numcodecs makes it infinite): it has no digits to drop, and fill
//! values are such numbers. A number that the stored type cannot hold is refused. Decoding only changes the type.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::QuantizeCoder;
pub use config::Quantize;

ncz_codec::register!(Quantize);
