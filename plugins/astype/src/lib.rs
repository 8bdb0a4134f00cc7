//! The astype codec: numbers stored as another type.
//!
//! # Names
//! numcodecs id `astype`; in Zarr v3 `numcodecs.astype`, a name in use but not registered (its successor there is
//! `cast_value`). It has no HDF5 filter.
//!
//! # Parameters
//! The type that is stored, and the type of the decoded data, which in Zarr v3 defaults to that of the
//! elements. As words: the letters of each type's text, the first in the lowest byte; `<i4` is 0x34693c.
//!
//! # Example JSON
//! ```
//! use ncz_astype::AsType;
//! use ncz_codec::{Codec, CodecConfig, Coder, Dialect};
//!
//! let json = serde_json::json!({"encode_dtype": "<f4", "decode_dtype": "<f8"}); // "id": "astype"
//! let astype = AsType::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&astype.to_json(Dialect::Numcodecs)?), json.as_object());
//!
//! let coder = AsType::coder(&astype.to_params()?)?;
//! let mut stream = [0; 4];
//! coder.encode(&mut coder.scratch(), &0.1_f64.to_le_bytes(), &mut stream)?;
//! assert_eq!(f32::from_le_bytes(stream), 0.1);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python, which cast as numpy does: integers wrap around, floating-point numbers are
//! rounded to nearest, ties to even, and lose their fraction if integers are stored. numcodecs casts anything; this
//! codec refuses numbers that would be read back as others: an integer that does not survive the cast, NaN and too
//! large numbers as integers, a finite number that would become infinite. A stream of numbers that the type of the data
//! cannot hold is an error; in numpy the result depends on the machine.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::AsTypeCoder;
pub use config::AsType;

ncz_codec::register!(AsType);
