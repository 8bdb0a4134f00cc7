//! The cast_value codec: numbers as numbers of another type.
//!
//! # Names
//! In Zarr v3 `cast_value` (zarr-extensions). It has no numcodecs id and no HDF5 filter.
//!
//! # Parameters
//! The type that is stored, how to round, the handling of numbers out of its range (an error by default), and
//! replacements of single numbers, which take precedence, when encoding and when decoding. As words: the letters of the
//! type's text, the first in the lowest byte; the rounding mode (0 nearest-even, 1 towards-zero, 2 towards-positive, 3
//! towards-negative, 4 nearest-away); out of range (0 error, 1 clamp, 2 wrap); the count of pairs for encoding and that
//! for decoding; three words for each number of a pair, which are its kind (0 signed, 1 unsigned, 2 double, 16 and its
//! bytes for bits) and 64 bits, low word first.
//!
//! # Example JSON
//! ```
//! use ncz_cast_value::CastValue;
//! use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind};
//!
//! let json = serde_json::json!({
//!     "data_type": "uint8",
//!     "rounding": "towards-zero",
//!     "out_of_range": "clamp",
//!     "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}
//! });
//! let codec = CastValue::from_json(Dialect::ZarrV3, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&codec.to_json(Dialect::ZarrV3)?), json.as_object());
//!
//! let dtype = Dtype::little(Kind::Float, 4);
//! let env = Env { dtype, array_shape: vec![3], chunk_shape: vec![3], container: Container::ZarrV3 };
//! let coder = codec.bind(&env.chunk(), &env)?.coder;
//! let chunk = [7.9_f32, 300.0, f32::NAN].map(f32::to_le_bytes);
//! let mut stream = [0; 3];
//! coder.encode(&mut coder.scratch(), chunk.as_flattened(), &mut stream)?;
//! assert_eq!(stream, [7, 255, 0]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The values of zarr-python 3.4 with cast-value-rs, for integers of 1 to 8 bytes and floating-point numbers of 2 to 8.
//! The fill value is cast like elements, and refused if it cannot be cast. zarr-python encodes some integers that it
//! cannot decode, which this codec refuses; of two pairs for the same number in `scalar_map` it uses the last. NaN
//! keeps as many of its bits as fit, unlike in zarr-python. The stream is the numbers only, without a checksum.

#![forbid(unsafe_code)]

mod cast;
mod codec;
mod config;

pub use cast::{OutOfRange, Rounding};
pub use codec::{CastValueCoder, CastValueScratch};
pub use config::CastValue;

ncz_codec::register!(CastValue);
